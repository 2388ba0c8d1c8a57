import { useMatch } from '@tanstack/react-router'
import type { CSSProperties, ReactNode } from 'react'
import { counted } from '../../../../lib/app/format.ts'
import { absoluteTime } from '../../../../lib/app/relative-time.ts'
import { useIsNarrow } from '../../../../lib/app/use-is-narrow.ts'
import { RowLink } from '../../../../ui/app/RowLink.tsx'
import { hourAround } from '../timeline/time-range.ts'
import styles from './Lane.module.css'
import { groupsOf, type Mark } from './lanes.ts'

const ROUTE = '/authenticated/org_{$organization}/projects/$projectId/devices/$deviceId'

const GLYPH: Record<Mark['look'], ReactNode> = {
  installed: <circle cx="5" cy="5" r="4" fill="currentColor" />,
  failed: (
    <path
      d="M1.6 1.6l6.8 6.8M8.4 1.6 1.6 8.4"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
    />
  ),
  person: <path d="M5 .8 9.2 5 5 9.2.8 5z" fill="currentColor" />,
}

/** Shape of a mark: a circle for an installed update, a cross for a failed one, a diamond for a change by a person. */
export function Glyph({ look }: { look: Mark['look'] }) {
  return (
    <svg
      className={styles.glyph}
      data-look={look}
      viewBox="0 0 10 10"
      width="10"
      height="10"
      aria-hidden="true"
    >
      {GLYPH[look]}
    </svg>
  )
}

/** Minimum distance between two links, as a fraction of the axis: about 24 px on an axis of 550 px, 44 px on one of 320 px on phones. */
const MIN_DISTANCE = { wide: 0.05, narrow: 0.14 }
/** Marks of the same kind that lie closer together than this fraction of the axis are drawn once. */
const SAME_PLACE = 0.006

type LaneProps = {
  name: string
  /** Text for screen readers if there is no mark. */
  empty: string
  marks: readonly Mark[]
}

/** Marks on the time axis of the connection. Marks that lie close together are one link to the timeline around their time. */
export function Lane({ name, empty, marks }: LaneProps) {
  const minDistance = MIN_DISTANCE[useIsNarrow() ? 'narrow' : 'wide']
  const groups = groupsOf(marks, minDistance)
  return (
    <>
      <span className="tiny muted" aria-hidden="true">
        {name}
      </span>
      <ul className={`touch-area ${styles.lane}`} aria-label={name}>
        {groups.length === 0 && <li className="visually-hidden">{empty}</li>}
        {groups.map(group => (
          <Group key={group[0]!.entry.entryId} marks={group} />
        ))}
      </ul>
    </>
  )
}

function Group({ marks }: { marks: readonly Mark[] }) {
  const path = useMatch({ from: ROUTE, select: ({ pathname }) => pathname.replace(/\/$/, '') })
  const [first, last] = [marks[0]!, marks.at(-1)!]
  const drawn = marks.filter((mark, index) => {
    const before = marks[index - 1]
    return !before || before.look !== mark.look || mark.place - before.place >= SAME_PLACE
  })
  const [from, to] = [Date.parse(first.entry.at), Date.parse(last.entry.at)]
  const words = sentenceOf(marks)
  return (
    <li
      className={styles.group}
      style={{ '--at': share(first.place), '--width': share(last.place - first.place) } as CSSProperties}
    >
      <RowLink
        href={`${path}/timeline?${new URLSearchParams(hourAround(from, to))}`}
        data-tip={`${words}\n${absoluteTime(to)}`}
        aria-label={words}
      >
        {drawn.map(mark => (
          <i
            key={mark.entry.entryId}
            style={
              { '--within': (mark.place - first.place) / (last.place - first.place || 1) } as CSSProperties
            }
          >
            <Glyph look={mark.look} />
          </i>
        ))}
      </RowLink>
    </li>
  )
}

function share(value: number): string {
  return `${(value * 100).toFixed(2)}%`
}

/** Marks in words: "Update to 2.23.0 failed 2 times: no space left on device", "2.22.4 installed", "3 changes by people". */
function sentenceOf(marks: readonly Mark[]): string {
  const people = marks.filter(({ look }) => look === 'person')
  if (people.length > 1) return `${counted(people.length, 'change')} by people`
  if (people.length === 1) return personWords(people[0]!.entry)
  const failed = marks.filter(({ look }) => look === 'failed')
  const installed = marks.filter(({ look }) => look === 'installed').at(-1)
  const parts = [
    failed.length > 0 ? failedWords(failed) : '',
    installed ? `${versionOf(installed)} installed` : '',
  ]
  return parts.filter(part => part !== '').join('; ')
}

function failedWords(failed: readonly Mark[]): string {
  const last = failed.at(-1)!
  const times = failed.length > 1 ? ` ${failed.length} times` : ''
  const error = last.change?.error
  return `Update to ${versionOf(last)} failed${times}${error === undefined ? '' : `: ${error.slice(0, 200)}`}`
}

function versionOf({ change }: Mark): string {
  return (change?.version ?? 'an unknown version').slice(0, 100)
}

function personWords(entry: Mark['entry']): string {
  if (entry.type === 'tag') return `The tag ${entry.path.slice(0, 200)} moved`
  if (entry.type === 'property') return `${entry.actorName ?? 'A person'} changed ${entry.name.slice(0, 200)}`
  if (entry.type === 'audit') return `${entry.actorName ?? 'A person'} changed the device`
  return 'A change'
}
