import { type ActionInput, MAX_COUNTED_FILTERS } from '@muster/actions/client'
import { useActionState } from '../../../../api/queries.ts'
import { counted } from '../../../../lib/app/format.ts'
import { focusHeading } from '../../../../lib/focus-heading.ts'
import { Button } from '../../../../ui/Button.tsx'
import { leavesOf, writeItems } from '../../predicate/items.ts'
import { readWhere, type Where } from '../../predicate/read-where.ts'
import { Unknown } from '../../predicate/Unknown.tsx'
import { type Condition, conditionText, isColumnName } from '../../shared/conditions.ts'
import type { DeviceSearch } from '../../shared/device-search.ts'
import { ATTENTION_LABELS } from '../attention.ts'
import { devicesInput } from '../devices-input.ts'
import styles from './NothingMatches.module.css'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>
type Change = { [Name in keyof DeviceSearch]?: string | undefined }

type NothingMatchesProps = {
  projectId: string
  search: DeviceSearch
  onChange: (next: Change) => void
  onClear: () => void
}

/** Part of a filter: its words, and the change of the URL that removes it. */
type Part = { words: string; without: Change }

/** Text for a filter that no device matches. For each part of the filter it has the number of devices that match without this part. */
export function NothingMatches({ projectId, search, onChange, onClear }: NothingMatchesProps) {
  const where = search.where === undefined ? undefined : readWhere(search.where)
  const conditions = leavesOf(where?.items ?? []).map(({ condition }) => condition)
  const parts = partsOf(search, where)
  const { data, error } = useActionState(
    'projects_QueryDeviceCounts',
    {
      projectId,
      filters: parts
        .slice(0, MAX_COUNTED_FILTERS)
        .map(({ without }) => filterOf(projectId, { ...search, ...without } as DeviceSearch)),
    },
    { enabled: parts.length > 1 },
  )
  const leave = (change: () => void) => {
    // The button disappears with the filter, so the focus moves to the heading first.
    focusHeading()
    change()
  }
  return (
    <div>
      <div className={styles.nothing}>
        <p className={styles.title}>No devices match this filter.</p>
        <Nearest projectId={projectId} conditions={conditions} />
        {where && <Unknown projectId={projectId} where={where} />}
        {parts.length > 1 && (
          <ul className={styles.parts}>
            {parts.map(({ words, without }, index) => {
              const count = data?.counts[index]
              return (
                <li key={words} className="row">
                  <span>Without {words}</span>
                  <span className={`muted tabular ${styles.count}`} role="status">
                    {index < MAX_COUNTED_FILTERS
                      ? countText(count, error)
                      : `– only ${MAX_COUNTED_FILTERS} parts are counted`}
                  </span>
                  {count !== undefined && count !== null && count > 0 && (
                    <Button size="sm" onClick={() => leave(() => onChange(without))}>
                      Remove<span className="visually-hidden"> {words}</span>
                    </Button>
                  )}
                </li>
              )
            })}
          </ul>
        )}
        <Button onClick={() => leave(onClear)}>Clear</Button>
      </div>
    </div>
  )
}

function countText(count: number | null | undefined, error: Error | null): string {
  if (count === undefined) return error ? `– not counted: ${error.message}` : 'Counting…'
  if (count === null) return '– not counted within 2 s'
  return count === 0 ? 'still 0' : `${counted(count, 'device')} match`
}

const STATUS_WORDS = { connected: 'Connected', disconnected: 'Disconnected', pending: 'Pending' }

function partsOf(search: DeviceSearch, where: Where | undefined): Part[] {
  const items = where?.items
  return [
    ...(where && !items ? [{ words: where.text, without: { where: undefined } }] : []),
    ...(items ?? []).map((item, index) => ({
      words:
        'any' in item
          ? item.any.map(({ condition }) => conditionText(condition)).join(' or ')
          : conditionText(item.condition),
      without: { where: writeItems(items!.toSpliced(index, 1), where!.isText) },
    })),
    ...(search.q?.trim() ? [{ words: `“${search.q.trim()}”`, without: { q: undefined } }] : []),
    ...(search.status ? [{ words: STATUS_WORDS[search.status], without: { status: undefined } }] : []),
    ...(search.show ? [{ words: ATTENTION_LABELS[search.show], without: { show: undefined } }] : []),
    ...(search.health
      ? [{ words: `health ${ATTENTION_LABELS[search.health]}`, without: { health: undefined } }]
      : []),
    ...(search.software ? [{ words: 'the software', without: { software: undefined } }] : []),
    ...(search.error || search.target
      ? [
          {
            words: search.error ? `the error ${search.error}` : 'the failed update',
            without: { error: undefined, target: undefined },
          },
        ]
      : []),
    ...(search.address ? [{ words: `the address ${search.address}`, without: { address: undefined } }] : []),
    ...(search.token ? [{ words: 'the deployment token', without: { token: undefined } }] : []),
  ]
}

function filterOf(projectId: string, search: DeviceSearch): Filter {
  const where = search.where === undefined ? undefined : readWhere(search.where).filter
  return devicesInput(projectId, search, where).filter ?? {}
}

/** For a condition on a number: the value nearest to it that a device has. */
function Nearest({ projectId, conditions }: { projectId: string; conditions: readonly Condition[] }) {
  const condition = conditions.find(
    ({ property, operator }) => !isColumnName(property) && (operator === 'less' || operator === 'greater'),
  )
  const numbers = useActionState(
    'projects_QueryPropertyValues',
    { projectId, property: condition?.property ?? 'none' },
    { enabled: condition !== undefined },
  ).data?.numbers
  if (!condition || !numbers) return null
  const isLess = condition.operator === 'less'
  return (
    <p className="secondary">
      The {isLess ? 'lowest' : 'highest'} <span className="mono">{condition.property}</span> in this project
      is <span className="mono">{isLess ? numbers.lowest : numbers.highest}</span>.
    </p>
  )
}
