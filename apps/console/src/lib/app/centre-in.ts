/** Scrolls a box sideways, so that a child is in the middle of its visible part. The ends of the content limit the scroll. */
export function centreIn(box: HTMLElement, child: Element) {
  const [outer, inner] = [box.getBoundingClientRect(), child.getBoundingClientRect()]
  box.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2)
}
