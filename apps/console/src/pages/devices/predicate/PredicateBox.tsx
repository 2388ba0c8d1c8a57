import { MAX_PREDICATE_LENGTH } from '@muster/predicates'
import { CircleAlert } from 'lucide-react'
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { useDebounced } from '../../../lib/app/use-debounced.ts'
import { useStable } from '../../../lib/app/use-stable.ts'
import { Button } from '../../../ui/Button.tsx'
import { Marked } from '../list/Marked.tsx'
import styles from './PredicateBox.module.css'
import { isKeyword, type Piece, piecesOf, placeInText, type TextPlace } from './place-in-text.ts'
import { placeOf, readText, readWhere, type TextProblem } from './read-where.ts'
import { subjectToText, useSuggestions } from './use-suggestions.ts'
import { unknownText, useUnknownNames } from './use-unknown-names.ts'

type PredicateBoxProps = {
  projectId: string
  /** Number of devices of the project, if it is known. */
  deviceCount: number | undefined
  /** Text in the address, or of the form. */
  text: string
  /** Whether the text in the address is wrong, so that it filters nothing. */
  isWrong: boolean
  /** Called with a text without an error, and the properties that it compares. */
  onChange: (text: string | undefined, shown: readonly string[]) => void
  /** Called when Escape is pressed and no suggestions are open. */
  onLeave: () => void
  /** Whether the box takes the focus, because a person has asked for it. */
  takesFocus: boolean
}

/** Pause in typing, in milliseconds, after which a text without an error takes effect. */
const APPLY_MS = 600

/** The conditions of the device list as text, with suggestions at the cursor and the first error. */
export function PredicateBox({
  projectId,
  deviceCount,
  text,
  isWrong,
  onChange,
  onLeave,
  takesFocus,
}: PredicateBoxProps) {
  const [draft, setDraft] = useState(text)
  // A text that this box has applied arrives later, when a person may have typed on. Another text comes from elsewhere, such as a view, and
  // replaces the draft.
  const [applied, setApplied] = useState(text)
  const [before, setBefore] = useState(text)
  if (before !== text) {
    setBefore(text)
    if (text !== applied) setDraft(text)
  }
  const [cursor, setCursor] = useState<number>()
  const [active, setActive] = useState<number>()
  const [isClosed, setClosed] = useState(false)
  const [isAsked, setAsked] = useState(false)
  const box = useRef<HTMLTextAreaElement>(null)
  const coloured = useRef<HTMLPreElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const settled = useDebounced(draft, APPLY_MS)

  const trimmed = settled.trim()
  const read = trimmed === '' ? undefined : readText(settled)
  const problem = read && 'problem' in read ? read.problem : undefined
  const where = read && 'expr' in read ? { filter: { predicate: read.expr }, items: undefined } : undefined
  const names = useUnknownNames(projectId, where)
  const unknown = names?.[0]
  const isSettled = settled === draft
  const place = cursor === undefined || isClosed ? undefined : placeInText(draft, cursor)
  const suggestions = useSuggestions(projectId, place)
  const options = place && isDue(place) ? (suggestions?.options ?? []).filter(isNew) : []
  const isOpen = options.length > 0
  // While something is suggested, the text may lack its end, and a name its last letters.
  const shownProblem = isSettled && !(isOpen && problem?.found === 'the end') ? problem : undefined
  const shownUnknown = isSettled && !isOpen ? unknown : undefined
  const shownActive = active === undefined ? undefined : Math.min(active, options.length - 1)

  /** What begins a condition is suggested after two letters, and what joins conditions after one, unless Ctrl and Space ask for it. */
  function isDue({ wanted: { kind }, part }: TextPlace): boolean {
    return isAsked || part.length > (kind === 'subject' ? 1 : kind === 'join' ? 0 : -1)
  }
  /** A word that stands there already is no suggestion. */
  function isNew({ text: whole }: { text: string }): boolean {
    return place === undefined || draft.slice(place.from, place.to) !== whole.trim()
  }

  function apply(next = draft) {
    const whole = next.trim()
    if (whole === text) return
    if (whole !== '' && 'problem' in readText(whole)) return
    setApplied(whole)
    onChange(whole || undefined, whole === '' ? [] : readWhere(whole).shown)
  }
  const applySettled = useStable(() => {
    if (isSettled && !problem && names?.length === 0) apply(settled)
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the text has settled, and when the hub has looked up its names
  useEffect(applySettled, [settled, names?.length])

  useEffect(() => {
    if (!takesFocus) return
    const element = box.current!
    element.focus()
    element.setSelectionRange(element.value.length, element.value.length)
  }, [takesFocus])

  // The suggestions stand below the word that they replace.
  const start = isOpen ? place?.from : undefined
  useLayoutEffect(() => {
    if (start === undefined || !coloured.current) return
    list.current?.style.setProperty('--at', `${leftOf(coloured.current, start)}px`)
  }, [start])

  function type(next: string, at: number) {
    setDraft(next)
    setCursor(at)
    setActive(undefined)
    setClosed(false)
    setAsked(false)
  }
  /** Puts a text into the place of another, with the cursor after it. */
  function replace(from: number, to: number, inserted: string) {
    const rest = draft.slice(to)
    // A space after the inserted word is one of the text, if this has one.
    const whole = inserted.endsWith(' ') && rest.startsWith(' ') ? inserted.slice(0, -1) : inserted
    const next = draft.slice(0, from) + whole + rest
    const at = from + inserted.length
    type(next, at)
    // React sets the value first.
    setTimeout(() => box.current?.setSelectionRange(at, at))
  }
  function take(index: number) {
    if (!place) return
    const { wanted, from, to } = place
    const before = draft.slice(0, from).trimEnd()
    const isFurther = wanted.kind === 'value' && wanted.isList && !/[[,]$/.test(before)
    const isEnd = options[index]!.text.startsWith(']')
    const isApart = (wanted.kind === 'join' || wanted.kind === 'operator') && /\S$/.test(draft.slice(0, from))
    const start = isFurther ? before.length : from
    const separator = isFurther && !isEnd ? ', ' : isApart ? ' ' : ''
    replace(start, to, separator + options[index]!.text)
  }
  function onKeyDown(event: KeyboardEvent) {
    const { key } = event
    const isCommand = event.ctrlKey || event.metaKey
    if ((key === 'ArrowDown' || key === 'ArrowUp') && isOpen) {
      const step = key === 'ArrowDown' ? 1 : -1
      const from = shownActive ?? (step === 1 ? -1 : options.length)
      const index = (from + step + options.length) % options.length
      setActive(index)
      document.getElementById(`${id}-${index}`)?.scrollIntoView({ block: 'nearest' })
    } else if (key === 'Tab' && !event.shiftKey && isOpen && (shownActive !== undefined || place?.part)) {
      take(shownActive ?? 0)
    } else if (key === 'Enter' && !event.shiftKey) {
      if (shownActive !== undefined && isOpen && !isCommand) take(shownActive)
      else {
        setClosed(true)
        apply()
      }
    } else if (key === ' ' && event.ctrlKey) {
      setClosed(false)
      setAsked(true)
      setCursor(box.current!.selectionStart)
    } else if (key === 'Escape') {
      if (isOpen) setClosed(true)
      else onLeave()
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  const marked = shownProblem
    ? { at: shownProblem.at, length: shownProblem.length }
    : shownUnknown && partOf(draft, shownUnknown)
  return (
    <div className={styles.box}>
      <div className={styles.text} data-wrong={marked !== undefined}>
        <pre ref={coloured} aria-hidden="true">
          <Coloured text={draft} wrong={marked} />
          {'\n'}
        </pre>
        <textarea
          ref={box}
          aria-label="Conditions as text"
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-describedby={`${id}-message`}
          {...(isOpen && shownActive !== undefined && { 'aria-activedescendant': `${id}-${shownActive}` })}
          {...(marked && { 'aria-invalid': true })}
          rows={1}
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="none"
          maxLength={MAX_PREDICATE_LENGTH}
          placeholder={'label.site = "pier4" and not device.connected'}
          value={draft}
          onChange={event => type(event.target.value, event.target.selectionStart)}
          onSelect={event => {
            const at = event.currentTarget.selectionStart
            if (at === cursor) return
            // The list opens with typing. A moved cursor closes it.
            if (cursor !== undefined && event.currentTarget.value === draft) setCursor(undefined)
          }}
          onBlur={() => setCursor(undefined)}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id={`${id}-message`} className={styles.message}>
        {shownProblem ? (
          <Message
            words={problemText(settled, shownProblem)}
            use={shownProblem.suggestion}
            onUse={word => replace(shownProblem.at, shownProblem.at + shownProblem.length, word)}
          />
        ) : (
          shownUnknown && (
            <Message
              words={`${placeWords(settled, marked?.at ?? 0)}: ${unknownText(shownUnknown, deviceCount)}.`}
              use={shownUnknown.nearest}
              onUse={word => {
                const subject = shownUnknown.kind === 'label' ? `dev.muster.labels.${word}` : word
                if (marked) replace(marked.at, marked.at + marked.length, subjectToText(subject))
              }}
            />
          )
        )}
        {(shownProblem || (shownUnknown && settled.trim() !== text)) && (
          <span className={styles.hint}>
            {isWrong
              ? 'The list leaves these conditions out.'
              : shownProblem
                ? 'The list shows the last conditions without an error.'
                : 'The list shows the last conditions. Enter applies these all the same.'}
          </span>
        )}
      </div>
      <div ref={list} className={styles.suggestions} hidden={!isOpen}>
        {suggestions && isOpen && (
          <header>
            {suggestions.heading}
            <span>{suggestions.aside}</span>
          </header>
        )}
        {/* A press on an option must not move the focus out of the box. */}
        <div
          id={`${id}-list`}
          role="listbox"
          aria-label="Suggestions"
          tabIndex={-1}
          onMouseDown={event => event.preventDefault()}
        >
          {options.map(({ text: whole, shown = whole, words }, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the box handles the keys
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the box
            <div
              key={whole}
              id={`${id}-${index}`}
              className="row"
              role="option"
              aria-selected={index === shownActive}
              onClick={() => take(index)}
            >
              <Marked className="mono truncated" text={shown.trim()} part={place?.part ?? ''} />
              {words && <small className="tiny muted tabular">{words}</small>}
            </div>
          ))}
        </div>
        <footer className="tiny muted" aria-hidden="true">
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> choose
          </span>
          <span>
            <kbd>Tab</kbd> take
          </span>
          <span>
            <kbd>Esc</kbd> close
          </span>
        </footer>
      </div>
      <span className="visually-hidden" role="status">
        {isOpen && `${options.length} suggestions`}
      </span>
    </div>
  )
}

/** Distance in pixels from the left edge of an element to the character of its text at an index. */
function leftOf(element: HTMLElement, index: number): number {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  let rest = index
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const length = node.textContent?.length ?? 0
    if (rest <= length) {
      const range = document.createRange()
      range.setStart(node, rest)
      return range.getBoundingClientRect().left - element.getBoundingClientRect().left
    }
    rest -= length
  }
  return 0
}

type MessageProps = { words: string; use: string | undefined; onUse: (word: string) => void }

/** An error with what may have been meant. */
function Message({ words, use, onUse }: MessageProps) {
  return (
    <>
      <p role="alert">
        <CircleAlert className="icon small-icon" aria-hidden />
        <span>{words}</span>
      </p>
      {use !== undefined && (
        <span className={styles.use}>
          <Button size="sm" variant="ghost" onClick={() => onUse(use)}>
            Use {use}
          </Button>
        </span>
      )}
    </>
  )
}

/** "Column 43", or "Line 2, column 7" in a text of several lines. */
function placeWords(text: string, at: number): string {
  const { line, column } = placeOf(text, at)
  return text.includes('\n') ? `Line ${line}, column ${column}` : `Column ${column}`
}

function problemText(text: string, { at, found, expected }: TextProblem): string {
  return `${placeWords(text, at)}: found ${found}, expected ${expected}.`
}

/** Place of a name in the text: after `label` or in quotes, or as a word. */
function partOf(text: string, { kind, name }: { kind: 'property' | 'label'; name: string }) {
  const subject = subjectToText(kind === 'label' ? `dev.muster.labels.${name}` : name)
  const forms = [subject, kind === 'label' ? `label["${name}"]` : `property["${name}"]`, `property.${name}`]
  const found = forms.find(form => text.includes(form))
  return found === undefined ? undefined : { at: text.indexOf(found), length: found.length }
}

type ColouredProps = { text: string; wrong: { at: number; length: number } | undefined }

/** The text in its colours, which stands behind the transparent text of the box. */
function Coloured({ text, wrong }: ColouredProps) {
  const pieces = piecesOf(text)
  const end = wrong ? wrong.at + wrong.length : 0
  const isWrong = ({ at }: Piece) => wrong !== undefined && at >= wrong.at && at < end
  let from = 0
  return (
    <>
      {pieces.map(piece => {
        const space = text.slice(from, piece.at)
        from = piece.at + piece.text.length
        const className = piece.kind === 'string' ? styles.string : isKeyword(piece) ? styles.keyword : ''
        return (
          <span key={piece.at}>
            {space}
            <span className={`${className} ${isWrong(piece) ? styles.wrong : ''}`}>{piece.text}</span>
          </span>
        )
      })}
      {wrong && wrong.at >= text.trimEnd().length && <span className={styles.wrong}> </span>}
    </>
  )
}
