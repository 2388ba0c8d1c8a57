import { MAX_FILTER_LENGTH, MAX_KIND_LENGTH } from '@muster/actions/client'
import type { ReactNode } from 'react'
import { usePageSearch } from '../../lib/app/search.ts'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { actorIdOf } from './actors.ts'
import { auditSearch } from './audit-search.ts'
import { ListPick, type PickOption } from './ListPick.tsx'
import styles from './LogFilters.module.css'
import { KINDS, type Kind } from './sentences/kinds.ts'
import { iconOf } from './sentences/names.ts'
import { partsOf } from './sentences/sentence.ts'
import { type SubjectLink, subjectLink } from './sentences/subject-link.ts'
import type { Entry, Subjects } from './shared/entry.ts'
import { TimePick } from './shared/TimePick.tsx'
import type { RangeCounting } from './use-log.ts'

type LogFiltersProps = {
  /** Entries on screen. The filters offer their actors, types and subjects as options. */
  entries: readonly Entry[]
  subjects: Subjects
  isInstance: boolean
  counting: RangeCounting | undefined
  /** Filter by outcome or, in the log of actions, by status. It is at the end of the line of filters. */
  children: ReactNode
}

/** Filters of a log: a search box, time, actor, kind, subject and outcome. Their values are search parameters of the URL. */
export function LogFilters({ entries, subjects, isInstance, counting, children }: LogFiltersProps) {
  const [search, change] = usePageSearch(auditSearch)
  const { time, from, to, hours, q = '', actor = '', kind, type = '', subject = '' } = search
  const actors = actorOptions(entries, subjects, isInstance)
  const things = subjectOptions(entries, subjects, isInstance)
  return (
    <div className={`tools ${styles.filters}`}>
      <FilterBox
        value={q}
        onChange={text => change({ q: text })}
        label="Find in the log"
        placeholder="Find a name or id"
      />
      <div className={`row ${styles.picks}`}>
        <TimePick search={{ time, from, to, hours }} counting={counting} onChange={change} />
        <ListPick
          label="Actor"
          none="Anyone"
          value={actor}
          valueLabel={labelIn(actors, actor)}
          options={actors}
          find="Find a person or id"
          maxLength={MAX_FILTER_LENGTH}
          onChange={next => change({ actor: next })}
          onText={text => change({ actor: text })}
        />
        <ListPick
          label="Kind"
          none="Any"
          value={type || (kind ?? '')}
          valueLabel={type || (kind ? KINDS[kind].label : '')}
          options={kindOptions(entries)}
          find="Find a kind or type"
          maxLength={MAX_KIND_LENGTH}
          onChange={next =>
            change(Object.hasOwn(KINDS, next) ? { kind: next, type: '' } : { kind: '', type: next })
          }
          onText={text => change({ kind: '', type: text })}
        />
        <ListPick
          label="Subject"
          none="Any"
          value={subject}
          valueLabel={labelIn(things, subject)}
          options={things}
          find="Find a name, or paste an id"
          maxLength={MAX_KIND_LENGTH}
          onChange={next => change({ subject: next })}
          onText={text => change({ subject: text })}
        />
      </div>
      <span className="grow hidden-on-phones" />
      {children}
    </div>
  )
}

function labelIn(options: readonly PickOption[], value: string): string {
  return options.find(option => option.value === value)?.label ?? value
}

function actorOptions(entries: readonly Entry[], subjects: Subjects, isInstance: boolean): PickOption[] {
  const names = new Map<string, string>()
  for (const { actor, actorName } of entries) {
    const id = actorIdOf(actor)
    if (id !== undefined && !names.has(id))
      names.set(id, actorName ?? distinctLabel(id, subjectLink(id, subjects, isInstance)))
  }
  return [...names].map(([value, label]) => ({ value, label })).sort(byLabel)
}

function kindOptions(entries: readonly Entry[]): PickOption[] {
  const types = [...new Set(entries.map(({ event }) => event))].sort()
  return [
    ...Object.entries(KINDS).map(([value, { label, icon }]) => ({ value: value as Kind, label, icon })),
    ...types.map(value => ({ value, label: value, icon: iconOf(value), isMono: true })),
  ]
}

function subjectOptions(entries: readonly Entry[], subjects: Subjects, isInstance: boolean): PickOption[] {
  const ids = new Set(
    entries.flatMap(entry => partsOf(entry).flatMap(part => (part.kind === 'subject' ? [part.id] : []))),
  )
  return [...ids]
    .map(id => ({ value: id, label: distinctLabel(id, subjectLink(id, subjects, isInstance)) }))
    .sort(byLabel)
}

/** Number of characters at the end of an id that are shown for deleted objects without a name, to distinguish them. */
const TAIL_CHARS = 6

function distinctLabel(id: string, { label, isNoun }: SubjectLink): string {
  return isNoun ? `${label}, …${id.slice(-TAIL_CHARS)}` : label
}

function byLabel(a: PickOption, b: PickOption): number {
  return a.label.localeCompare(b.label)
}
