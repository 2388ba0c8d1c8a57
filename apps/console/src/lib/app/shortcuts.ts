import { useEffect, useEffectEvent } from 'react'
import { externalStore, useExternalStore } from '../external-store.ts'
import { readLocalStorage, writeLocalStorage } from '../local-storage.ts'

/** A keyboard shortcut of the current page. */
type Shortcut = {
  /** A `KeyboardEvent.key`, or two keys to press one after the other: "g p". */
  keys: string
  /** Description of the shortcut in the dialog "Keyboard shortcuts". */
  words: string
  /** Returns `false` if there is nothing to do. The browser then handles the key. */
  run: () => unknown
}

const STORED_AS = 'muster.shortcuts'
/** Longest pause between the two keys of a sequence. */
const SECOND_KEY_MS = 1_000

const shortcuts: Shortcut[] = []
const areOn = externalStore(read())
let before = { key: '', atMs: 0 }

function read(): boolean {
  return readLocalStorage(STORED_AS) !== 'off'
}

/** Turns single-key shortcuts on or off and stores the choice in this browser (WCAG 2.1.4). */
export function setShortcutsOn(next: boolean) {
  writeLocalStorage(STORED_AS, next ? undefined : 'off')
  areOn.set(next)
}

/** Whether single-key shortcuts are on. */
export function useShortcutsOn(): boolean {
  return useExternalStore(areOn)
}

/**
 * Binds a key while the component is mounted. Returns the attribute `aria-keyshortcuts` for the control that runs the
 * same function; `undefined` while shortcuts are off.
 */
export function useShortcut(keys: string, words: string, run: () => unknown) {
  const press = useEffectEvent(run)
  useEffect(() => {
    const shortcut = { keys, words, run: () => press() }
    shortcuts.push(shortcut)
    return () => void shortcuts.splice(shortcuts.indexOf(shortcut), 1)
  }, [keys, words])
  return useShortcutsOn() ? { 'aria-keyshortcuts': keys } : undefined
}

/** Maps the keys of each shortcut on the current page to its description. */
export function shortcutsHere(): ReadonlyMap<string, string> {
  return new Map(shortcuts.map(({ keys, words }) => [keys, words]))
}

/** The shortcut that was registered last for these keys. */
function find(keys: string): Shortcut | undefined {
  return shortcuts.findLast(shortcut => shortcut.keys === keys)
}

function onKeyDown(event: KeyboardEvent) {
  const isOthers = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey
  if (!areOn.get() || isOthers || isTaken(event.target)) return
  // With Caps Lock, `event.key` is upper case without Shift, so it is converted to lower case.
  const key = event.key.length === 1 && !event.shiftKey ? event.key.toLowerCase() : event.key
  const isSecond = event.timeStamp - before.atMs < SECOND_KEY_MS
  const found = (isSecond && find(`${before.key} ${key}`)) || find(key)
  before = { key: found ? '' : key, atMs: event.timeStamp }
  if (found && found.run() !== false) event.preventDefault()
}

/** Whether an open dialog, popover, menu or an input field handles the keys, so that shortcuts must not run. */
function isTaken(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open], [role=dialog], [role=menu], [data-menu-loading]')) return true
  if (target instanceof HTMLInputElement && target.type === 'checkbox') return false
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}

/** Safari ends a composition before the key that ended it, and marks that key only by its code. */
const COMPOSED_KEY_CODE = 229

/** Keeps keys from the whole console while an input method composes a character: Enter and Escape choose or drop the character then. */
function leaveToInputMethod(event: KeyboardEvent) {
  if (event.isComposing || event.keyCode === COMPOSED_KEY_CODE) event.stopPropagation()
}

window.addEventListener('keydown', leaveToInputMethod, true)
document.addEventListener('keydown', onKeyDown)
window.addEventListener('storage', ({ key }) => key === STORED_AS && areOn.set(read()))
