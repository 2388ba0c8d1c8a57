/** A small turning ring, hidden from screen readers because the text beside it names the work. */
export function Spinner() {
  return <span className="spin" aria-hidden="true" />
}
