const HIDDEN_MS = 60; // a page that nobody looks at is never drawn

/**
 * When what is on the page by now has been drawn: a click shows that it was heard before the work it asks for begins.
 */
export function afterPaint(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, HIDDEN_MS);
  });
}
