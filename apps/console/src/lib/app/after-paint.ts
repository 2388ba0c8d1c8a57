/**
 * Runs a function after the next paint. A handler of a click uses it for work that renders a page or a long list, so that the pressed
 * control is painted first.
 */
export function afterPaint(run: () => void): void {
  // A callback of `requestAnimationFrame` runs before the frame is painted. A timer that is started in the callback runs after that.
  requestAnimationFrame(() => setTimeout(run))
}
