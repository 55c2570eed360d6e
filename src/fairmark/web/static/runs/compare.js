// Comparing: another run is shown as soon as it is chosen.

const form = document.querySelector("[data-sides]");
form?.addEventListener("change", () => form.requestSubmit());
