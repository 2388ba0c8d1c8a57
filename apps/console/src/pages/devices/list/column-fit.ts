import { propertyOf } from './column-ids.ts'

/** Minimum width of the column Name, in pixels. */
export const NAME_PX = 240
/** Width of the column of checkboxes and of the column of buttons, in pixels. */
const SELECT_PX = 42
const VIEW_PX = 60
/** Width of the columns with times, in pixels: the longest, "59 minutes ago", with the padding of a cell. */
const TIME_PX = 118
/** Width of an id whose middle is cut, in pixels. */
const CUT_ID_PX = 118
const PENDING_PX = 88
const PROPERTY_PX = 160
/** Longest update and version that are shown whole, in pixels. Scripts of devices may report any text. */
const MAX_UPDATE_PX = 200
const MAX_VERSION_PX = 140
/** Widths of the heads "Status", "Version" and "Update", in pixels. */
const MIN_STATUS_PX = 80
const MIN_VERSION_PX = 70
const MIN_UPDATE_PX = 72

/** Columns that the specification does not require, in the order in which they are hidden to make room for names. */
const HIDDEN_FIRST = ['version', 'lastSeen', 'update'] as const

/** Widths of the longest texts of the loaded rows, in pixels, with the padding of a cell; 0 for a column without rows. */
export type Words = { name: number; deviceId: number; status: number; version: number; update: number }

export type ColumnFit = {
  /** Width of each column in pixels. The column Name has none if it takes the remaining width. */
  widths: Readonly<Record<string, number>>
  /** Columns that are hidden, because the window has no room for them. */
  hidden: readonly string[]
  /** Whether ids are shown whole. */
  hasWholeIds: boolean
  /** Whether the columns together are wider than the room, so that the list scrolls sideways. */
  isBroad: boolean
  /** Sum of all widths in pixels, with at least the minimum width of the column Name. */
  sumPx: number
}

type FitOptions = {
  /** Ids of the columns of the view, Name among them. */
  ids: readonly string[]
  /** Widths in pixels that the person has chosen. */
  chosen: Readonly<Record<string, number>>
  words: Words
  /** Width of the list in pixels; `undefined` before the first layout. */
  roomPx: number | undefined
  /** Whether the view is the default one, whose columns may be hidden. */
  mayHide: boolean
}

/**
 * Widths of the columns of the device list. Status, Version and Update are as wide as their words, Name takes what is left, and ids are
 * shown whole if all names are whole beside them. Columns of the default view are hidden one by one until names have 240 pixels.
 */
export function fitColumns({ ids, chosen, words, roomPx, mayHide }: FitOptions): ColumnFit {
  const widths = Object.fromEntries(ids.map(id => [id, chosen[id] ?? widthOf(id, words)]))
  const hidden: string[] = []
  const sumOf = () =>
    ids.reduce((sum, id) => sum + (hidden.includes(id) ? 0 : widths[id]!), SELECT_PX + VIEW_PX)
  if (mayHide && roomPx !== undefined) {
    for (const id of HIDDEN_FIRST) {
      if (sumOf() <= roomPx) break
      if (ids.includes(id)) hidden.push(id)
    }
  }
  const wholeIdPx = Math.max(words.deviceId, CUT_ID_PX)
  const forNames = Math.max(0, words.name - widths.name!)
  const hasWholeIds =
    roomPx !== undefined &&
    chosen.deviceId === undefined &&
    words.deviceId > 0 &&
    ids.includes('deviceId') &&
    sumOf() + forNames + wholeIdPx - CUT_ID_PX <= roomPx
  if (hasWholeIds) widths.deviceId = wholeIdPx
  const sumPx = sumOf()
  const isBroad = !mayHide && roomPx !== undefined && sumPx > roomPx
  if (chosen.name === undefined && !isBroad) delete widths.name
  return { widths, hidden, hasWholeIds, isBroad, sumPx }
}

function widthOf(id: string, { status, version, update }: Words): number {
  if (propertyOf(id) !== undefined) return PROPERTY_PX
  switch (id) {
    case 'name':
      return NAME_PX
    case 'deviceId':
      return CUT_ID_PX
    case 'status':
      return Math.max(MIN_STATUS_PX, status)
    case 'pendingCertificatesCount':
      return PENDING_PX
    case 'version':
      return Math.min(Math.max(MIN_VERSION_PX, version), MAX_VERSION_PX)
    case 'update':
      return Math.min(Math.max(MIN_UPDATE_PX, update), MAX_UPDATE_PX)
    default:
      return TIME_PX
  }
}
