/**
 * Runs a function after the next paint. A handler of a click uses it for work that renders a page or a long list, so that the pressed
 * control is painted first.
 */
export function afterPaint(run: () => void): void {
  // Callbacks of a frame run before its paint, and a timer that is started there ends after it.
  requestAnimationFrame(() => setTimeout(run))
}
