import { KEYWORDS } from '@muster/predicates'

/** A word, number, text or sign of a predicate. Unlike those of `readPredicate`, a text may lack its end. */
export type Piece = { kind: 'word' | 'number' | 'string' | 'sign'; text: string; at: number }

const PIECE =
  /(?<word>[A-Za-z_]\w*)|(?<number>-?\d[\d.eE+-]*)|(?<string>"(?:[^"\\\n]|\\.)*"?)|(?<sign>!=|<=|>=|[^\s\w])/g

/** The pieces of a text, in their order, without the spaces between them. */
export function piecesOf(text: string): Piece[] {
  return [...text.matchAll(PIECE)].map(({ index, groups }) => {
    const [kind, found] = Object.entries(groups!).find(([, part]) => part !== undefined)!
    return { kind: kind as Piece['kind'], text: found, at: index }
  })
}

/** Whether a piece is a word of the grammar, which the text form shows in bold. */
export function isKeyword({ kind, text }: Piece): boolean {
  const isOperator = KEYWORDS.includes(text) && !['label', 'device', 'property', 'current'].includes(text)
  return kind === 'word' && isOperator
}

/** What a predicate may have at a place of its text. */
type Wanted =
  /** A value of a device: a property, `label`, `device`, `not`, `exists`. */
  | { kind: 'subject' }
  /** The key of a label after `label.` or `label["`. */
  | { kind: 'label' }
  /** A field after `device.`. */
  | { kind: 'field' }
  /** The name of a property after `property["`. */
  | { kind: 'property' }
  | { kind: 'operator'; subject: string | undefined }
  /** A value that is compared with a subject, which is as in `Condition`. */
  | { kind: 'value'; subject: string | undefined; isList: boolean }
  | { kind: 'join' }

/** A place in the text of a predicate: the typed part of a word there, and what may stand in its place. */
export type TextPlace = {
  wanted: Wanted
  /** The typed part, without a quote before it. */
  part: string
  /** Indexes of the text that a suggestion replaces: after `label` with the dot or bracket, and from `property` on. */
  from: number
  to: number
}

const COMPARING = ['=', '!=', '<', '<=', '>', '>=', 'in', 'contains', 'exactly', 'satisfies']

/** Reads what the text before the cursor leads to. The text after it plays no part, but the rest of a word or a text is replaced. */
export function placeInText(text: string, cursor: number): TextPlace {
  const pieces = piecesOf(text)
  const touched = pieces.find(
    ({ kind, text: found, at }) =>
      kind !== 'sign' &&
      at < cursor &&
      (cursor < at + found.length || (cursor === at + found.length && !isClosed(kind, found))),
  )
  const before = pieces.filter(piece => piece.at < (touched?.at ?? cursor))
  const from = touched?.at ?? cursor
  const part = text.slice(from, cursor).replace(/^"/, '')
  const to = touched ? touched.at + touched.text.length : cursor
  const wanted = wantedAfter(before)
  const sign = before.at(-1)
  if (wanted.kind === 'label' || wanted.kind === 'property')
    return {
      wanted,
      part,
      from: wanted.kind === 'label' ? sign!.at : before.at(-2)!.at,
      to: sign!.text === '[' && text[to] === ']' ? to + 1 : to,
    }
  return { wanted, part, from, to }
}

/** A closed text or a number needs a space before the next word. */
function isClosed(kind: Piece['kind'], text: string): boolean {
  return kind === 'string' && text.length > 1 && text.endsWith('"')
}

type State = {
  wanted: 'subject' | 'operator' | 'value' | 'join'
  subject: string | undefined
  isList: boolean
}

const START: State = { wanted: 'subject', subject: undefined, isList: false }

function wantedAfter(pieces: readonly Piece[]): Wanted {
  const [last, previous] = [pieces.at(-1), pieces.at(-2)]
  const isIn = (word: string) => previous?.kind === 'word' && previous.text === word
  const isPath = last?.kind === 'sign' && (last.text === '.' || last.text === '[')
  if (isPath && isIn('label')) return { kind: 'label' }
  if (isPath && isIn('device')) return { kind: 'field' }
  if (isPath && isIn('property')) return { kind: 'property' }
  let state = START
  for (let at = 0; at < pieces.length; ) {
    const reference = referenceAt(pieces, at)
    if (reference) {
      at = reference.end
      state = afterValue(state, reference.subject)
      continue
    }
    state = afterPiece(state, pieces[at]!)
    at += 1
  }
  const { wanted, subject, isList } = state
  if (wanted === 'operator') return { kind: 'operator', subject }
  if (wanted === 'value') return { kind: 'value', subject, isList }
  return { kind: wanted }
}

function afterValue(state: State, subject: string | undefined): State {
  if (state.wanted === 'value') return { ...state, wanted: state.isList ? 'value' : 'join' }
  return { ...START, wanted: 'operator', subject }
}

function afterPiece(state: State, { kind, text }: Piece): State {
  if (state.isList) return text === ']' ? { ...state, wanted: 'join', isList: false } : state
  if (text === 'and' || text === 'or' || text === 'not' || text === 'exists' || text === '(') return START
  if (text === ')') return { ...START, wanted: 'join' }
  if (COMPARING.includes(text)) return { ...state, wanted: 'value' }
  if (text === '[' && state.wanted === 'value') return { ...state, isList: true }
  if (text === 'else') return { ...state, wanted: 'value' }
  if (text === 'ago') return { ...state, wanted: 'join' }
  const isValue = kind === 'string' || kind === 'number' || ['true', 'false', 'null'].includes(text)
  return isValue ? afterValue(state, undefined) : state
}

/** A reference that begins at a piece: its subject, and the index of the piece after it. */
function referenceAt(
  pieces: readonly Piece[],
  at: number,
): { subject: string | undefined; end: number } | undefined {
  const { kind, text } = pieces[at]!
  const isSign = (index: number, sign: string) =>
    pieces[index]?.kind === 'sign' && pieces[index].text === sign
  const isRoot = text === 'label' || text === 'device' || text === 'property'
  if (kind !== 'word' || (KEYWORDS.includes(text) && !isRoot)) return undefined
  const path: string[] = []
  let end = at + 1
  for (;;) {
    const next = pieces[end + 1]
    if (isSign(end, '.') && next?.kind === 'word') {
      path.push(next.text)
      end += 2
    } else if (
      isSign(end, '[') &&
      (next?.kind === 'string' || next?.kind === 'number') &&
      isSign(end + 2, ']')
    ) {
      path.push(next.kind === 'string' ? (JSON.parse(next.text) as string) : next.text)
      end += 3
    } else return { subject: subjectOf(text, path), end }
  }
}

/** The subject of a condition for a reference; undefined for members of values, which have no suggestions. */
function subjectOf(root: string, path: readonly string[]): string | undefined {
  const [first] = path
  if (root === 'label') return path.length === 1 ? `dev.muster.labels.${first}` : undefined
  if (root === 'device') return path.length === 1 ? `#${first}` : undefined
  if (root === 'property') return path.length === 1 ? first : undefined
  return path.length === 0 ? root : undefined
}
