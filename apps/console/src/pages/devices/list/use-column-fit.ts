import { useEffect, useMemo, useState } from 'react'
import { fontFamily, textWidth } from '../../../lib/app/text-width.ts'
import { readLocalStorage, writeLocalStorage } from '../../../lib/local-storage.ts'
import { statusWords } from '../DeviceStatus.tsx'
import { type ColumnFit, fitColumns, type Words } from './column-fit.ts'
import { updateWords } from './update-words.ts'
import type { DeviceRow } from './use-device-list.ts'

/** Padding of a cell, left and right together, as in the CSS rule `.devices td`, and 1 px for rounding. */
const PADDING_PX = 21
/** Width of a mark and of a small icon with the gap behind it, as in `controls.css` and `lists.css`. */
const MARK_PX = 18
const ICON_PX = 20
/** Gaps beside the dot between connection and health, as in the CSS rule `.status`. */
const DOT_GAPS_PX = 12
/** Gap between "unnamed" and the host name, as in the CSS rule `.row`. */
const HOST_GAP_PX = 8
/** Spare room of a name, because `CutMiddle` rounds the width of its end up. */
const NAME_SPARE_PX = 4
/** Room for the copy button of an id. */
const COPY_PX = 19

/** Key under which the browser stores the last widths, so that the list has them while it loads. */
const STORED = 'muster.device-columns'

type FitOptions = {
  devices: readonly DeviceRow[]
  ids: readonly string[]
  chosen: Readonly<Record<string, number>>
  roomPx: number | undefined
  mayHide: boolean
}

/**
 * The widths of the device list's columns for the loaded rows. A column grows with its words but does not shrink while the list is open,
 * so that columns do not move to and fro with the progress of updates.
 */
export function useColumnFit({ devices, ids, chosen, roomPx, mayHide }: FitOptions): ColumnFit {
  const needed = useMemo(() => wordsOf(devices), [devices])
  const [words, setWords] = useState<Words>()
  if (needed && (!words || isAbove(needed, words))) setWords(words ? larger(needed, words) : needed)
  useEffect(() => {
    if (words) writeLocalStorage(STORED, JSON.stringify(words))
  }, [words])
  const [stored] = useState(storedWords)
  const known = words ?? stored
  return useMemo(
    () => fitColumns({ ids, chosen, words: known, roomPx, mayHide }),
    [ids, chosen, known, roomPx, mayHide],
  )
}

const NO_WORDS: Words = { name: 0, deviceId: 0, status: 0, version: 0, update: 0 }
const KEYS = Object.keys(NO_WORDS) as (keyof Words)[]

function wordsOf(devices: readonly DeviceRow[]): Words | undefined {
  if (devices.length === 0) return undefined
  const sans = fontFamily('--sans')
  const mono = `12px ${fontFamily('--mono')}`
  const [plain, medium, italic] = [`14px ${sans}`, `500 14px ${sans}`, `italic 14px ${sans}`]
  const words = { ...NO_WORDS }
  const need = (key: keyof Words, widthPx: number) => {
    words[key] = Math.max(words[key], Math.ceil(widthPx) + PADDING_PX)
  }
  for (const device of devices) {
    const { name, hostname, deviceId, currentVersion } = device
    if (name !== undefined) need('name', textWidth(name, medium) + NAME_SPARE_PX)
    else
      need(
        'name',
        textWidth('unnamed', italic) +
          (hostname ? HOST_GAP_PX + NAME_SPARE_PX + textWidth(hostname, medium) : 0),
      )
    need('deviceId', textWidth(deviceId, mono) + COPY_PX)
    const { connection, sharedIdentity, health } = statusWords(device)
    const further = [sharedIdentity, health?.word].filter(word => word !== undefined)
    const furtherPx = further.reduce(
      (sum, word) => sum + DOT_GAPS_PX + textWidth('·', plain) + MARK_PX + textWidth(word, plain),
      0,
    )
    need('status', MARK_PX + textWidth(connection, plain) + furtherPx)
    need('version', textWidth(currentVersion ?? '–', mono))
    const update = updateWords(device)
    need('update', textWidth(update.text, plain) + (update.tone === 'plain' ? 0 : ICON_PX))
  }
  return words
}

function isAbove(one: Words, other: Words): boolean {
  return KEYS.some(key => one[key] > other[key])
}

function larger(one: Words, other: Words): Words {
  return Object.fromEntries(KEYS.map(key => [key, Math.max(one[key], other[key])])) as Words
}

/** The widths of the last visit. On the first visit, room for "Connected · Warning" and "Failed 6 times". */
function storedWords(): Words {
  try {
    const words = JSON.parse(readLocalStorage(STORED) ?? 'null') as Partial<Words> | null
    if (words && KEYS.every(key => typeof words[key] === 'number')) return words as Words
  } catch {
    // The stored text is of another version of the console.
  }
  return { ...NO_WORDS, status: 121, update: 88 }
}
