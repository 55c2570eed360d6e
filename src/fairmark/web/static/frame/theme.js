// Before the first paint: the colours that the reader has chosen, where they have.
try {
  const chosen = localStorage.getItem("fairmark-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // No storage: the system's colours will do.
}
