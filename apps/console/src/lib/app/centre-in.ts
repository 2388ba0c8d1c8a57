/** Scrolls a row that is wider than its box sideways, so that a child stands in the middle of the box, as far as the row goes. */
export function centreIn(box: HTMLElement, child: Element) {
  const [outer, inner] = [box.getBoundingClientRect(), child.getBoundingClientRect()]
  box.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2)
}
