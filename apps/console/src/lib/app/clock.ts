import { useSyncExternalStore } from 'react'

const TICK_MS = 10_000
let nowMs = Date.now()
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

function tick() {
  nowMs = Date.now()
  for (const listener of listeners) listener()
}

function run() {
  clearInterval(timer)
  timer = undefined
  if (listeners.size === 0 || document.hidden) return
  timer = setInterval(tick, TICK_MS)
}

function onVisibilityChange() {
  if (!document.hidden) tick()
  run()
}

function subscribe(listener: () => void) {
  if (listeners.size === 0) {
    nowMs = Date.now()
    document.addEventListener('visibilitychange', onVisibilityChange)
  }
  listeners.add(listener)
  if (!timer) run()
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    run()
    document.removeEventListener('visibilitychange', onVisibilityChange)
  }
}

/** The current time in milliseconds. All components share a clock that ticks every 10 s and stops while the page is hidden. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs)
}
