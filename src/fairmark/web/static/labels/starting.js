// Before labelling: a name that is typed once, and the other run only where two answers are asked about.

const NAME = "fairmark-rater";
const rater = document.querySelector("[data-rater]");
const question = document.getElementById("question");
const other = document.getElementById("other-field");

function remembered() {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

if (rater && !rater.value) rater.value = remembered();
rater?.form.addEventListener("submit", () => {
  try {
    localStorage.setItem(NAME, rater.value.trim());
  } catch {
    // It is typed again.
  }
});

function showOther() {
  if (other) other.hidden = question.selectedOptions[0]?.dataset.pairs !== "other";
}
question?.addEventListener("change", showOther);
showOther();
