// In the head, so that the first paint has the right colours.
document.documentElement.classList.add("js");
try {
  const theme = localStorage.getItem("colde-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // Where nothing can be remembered the system's choice stands.
}
