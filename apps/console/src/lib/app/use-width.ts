import { type RefObject, useLayoutEffect, useState } from 'react'

/** Inner width in pixels of the element's parent, kept current; `undefined` before the first layout. */
export function useWidth(element: RefObject<HTMLElement | null>): number | undefined {
  const [widthPx, setWidthPx] = useState<number>()
  useLayoutEffect(() => {
    const parent = element.current?.parentElement
    if (!parent) return
    setWidthPx(parent.clientWidth)
    const observer = new ResizeObserver(() => setWidthPx(parent.clientWidth))
    observer.observe(parent)
    return () => observer.disconnect()
  }, [element])
  return widthPx
}
