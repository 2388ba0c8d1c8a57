import { useEffect, useEffectEvent } from 'react'
import { held, useHeld } from './held.ts'
import { readStored, store } from './stored.ts'

/** What a key does on the page on screen. */
type Shortcut = {
  /** A key as `KeyboardEvent.key` names it, or two that are pressed one after the other: "g p". */
  keys: string
  /** What it does, for the sheet. */
  words: string
  /** Answers `false` where it has nothing to do: the key is the browser's then. */
  run: () => unknown
}

const STORED_AS = 'muster.shortcuts'
/** How long the first key of two waits for the second. */
const SECOND_KEY_MS = 1_000

const shortcuts: Shortcut[] = []
const areOn = held(read())
let before = { key: '', atMs: 0 }

function read(): boolean {
  return readStored(STORED_AS) !== 'off'
}

/** Turns shortcuts of single keys on or off and remembers it in this browser (WCAG 2.1.4). */
export function setShortcutsOn(next: boolean) {
  store(STORED_AS, next ? undefined : 'off')
  areOn.set(next)
}

/** Whether shortcuts of single keys are on. */
export function useShortcutsOn(): boolean {
  return useHeld(areOn)
}

/** Binds a key while the caller is on screen; gives the attribute of the control that does the same. */
export function useShortcut(keys: string, words: string, run: () => unknown) {
  const press = useEffectEvent(run)
  useEffect(() => {
    const shortcut = { keys, words, run: () => press() }
    shortcuts.push(shortcut)
    return () => void shortcuts.splice(shortcuts.indexOf(shortcut), 1)
  }, [keys, words])
  return useShortcutsOn() ? { 'aria-keyshortcuts': keys } : undefined
}

/** What keys do here and now, by keys. */
export function shortcutsHere(): ReadonlyMap<string, string> {
  return new Map(shortcuts.map(({ keys, words }) => [keys, words]))
}

/** Of two for the same keys the one that came last counts. */
function find(keys: string): Shortcut | undefined {
  return shortcuts.findLast(shortcut => shortcut.keys === keys)
}

function onKeyDown(event: KeyboardEvent) {
  const isOthers = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey
  if (!areOn.get() || isOthers || event.isComposing || isTaken(event.target)) return
  // Caps lock is no wish for another key.
  const key = event.key.length === 1 && !event.shiftKey ? event.key.toLowerCase() : event.key
  const isSecond = event.timeStamp - before.atMs < SECOND_KEY_MS
  const found = (isSecond && find(`${before.key} ${key}`)) || find(key)
  before = { key: found ? '' : key, atMs: event.timeStamp }
  if (found && found.run() !== false) event.preventDefault()
}

/** Whether keys are meant for something else: a field, an open menu or an open dialog. */
function isTaken(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open], .menu')) return true
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}

document.addEventListener('keydown', onKeyDown)
window.addEventListener('storage', ({ key }) => key === STORED_AS && areOn.set(read()))
