import { type MouseEvent, type PointerEvent, useRef } from 'react'

/** Time, in milliseconds, after which a touch counts as a long press, as in Android and iOS. */
const LONG_PRESS_MS = 500
/** Maximum movement, in pixels, of a touch that is not a scroll. */
const MAX_MOVE_PX = 10

/**
 * Touch handlers that call `onLongPress` with the touched element. They suppress the click that follows, and the browser's menu that a
 * long press on a link would open.
 */
export function useLongPress(onLongPress: (target: Element) => void) {
  const touch = useRef<{ timer: ReturnType<typeof setTimeout>; x: number; y: number }>(undefined)
  const isDone = useRef(false)
  function stop() {
    clearTimeout(touch.current?.timer)
    touch.current = undefined
  }
  return {
    onPointerDown({ pointerType, target, clientX: x, clientY: y }: PointerEvent) {
      isDone.current = false
      if (pointerType !== 'touch') return
      const timer = setTimeout(() => {
        isDone.current = true
        onLongPress(target as Element)
      }, LONG_PRESS_MS)
      touch.current = { timer, x, y }
    },
    onPointerMove({ clientX, clientY }: PointerEvent) {
      if (!touch.current) return
      const { x, y } = touch.current
      if (Math.hypot(clientX - x, clientY - y) > MAX_MOVE_PX) stop()
    },
    onPointerUp: stop,
    onPointerCancel: stop,
    onContextMenu(event: MouseEvent) {
      if (isDone.current) event.preventDefault()
    },
    onClickCapture(event: MouseEvent) {
      if (!isDone.current) return
      isDone.current = false
      event.preventDefault()
      event.stopPropagation()
    },
  }
}
