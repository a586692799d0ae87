// Before anything is drawn: the colours that were chosen here, and whether there is a frame to draw.
(() => {
  const root = document.documentElement;
  let kept = null;
  try { kept = localStorage.getItem("mantine-color-scheme-value"); } catch { /* a browser that keeps nothing */ }
  const isDark = kept === "dark" || (kept !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");
  if (/^\/(login|setup)\b/.test(location.pathname)) root.setAttribute("data-no-frame", "");
})();
