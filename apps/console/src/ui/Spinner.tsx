/** A small turning ring; the words beside it say what is under way. */
export function Spinner() {
  return <span className="spin" aria-hidden="true" />
}
