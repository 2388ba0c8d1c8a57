import type { ActionOutput } from '@muster/actions/client'
import { useSuspenseInfiniteQuery } from '@tanstack/react-query'
import { actionPagesQuery } from '../../../../api/queries.ts'
import { ErrorAlert } from '../../../../ui/Alert.tsx'
import { Time } from '../../../../ui/app/Time.tsx'
import { toast, toastError } from '../../../../ui/app/toast.ts'
import { Button } from '../../../../ui/Button.tsx'
import { JsonValue } from '../../../../ui/lazy/JsonValue.tsx'
import { SectionBoundary } from '../../../../ui/lazy/SectionBoundary.tsx'
import { ACTIONS, Cell, type Column, Row, Table } from '../../../../ui/lazy/Table.tsx'
import { nameOf } from '../../shared/actor-name.ts'
import shared from '../sections.module.css'
import { ShortValue } from '../timeline/ShortValue.tsx'
import styles from './properties.module.css'
import { useSetProperty } from './use-set-property.ts'

/** Number of values per page. It is low, because the values are shown within the list of properties. */
const PAGE_SIZE = 20

type Change = ActionOutput<'devices_QueryPropertyHistory'>['changes'][number]

type PastValuesProps = {
  deviceId: string
  name: string
  /** Version of the property; undefined if it was removed. Setting a past value again fails if the hub has a newer version. */
  version: number | undefined
}

/** Past values of a property, newest first, with time and actor, each with a button that sets it again. */
export function PastValues(property: PastValuesProps) {
  return (
    <div className={styles.past}>
      <h3 className="visually-hidden">Past values of {property.name}</h3>
      <SectionBoundary what="past values">
        <ValueTable {...property} />
      </SectionBoundary>
    </div>
  )
}

function ValueTable({ deviceId, name, version }: PastValuesProps) {
  const list = useSuspenseInfiniteQuery(
    actionPagesQuery('devices_QueryPropertyHistory', { deviceId, name, limit: PAGE_SIZE }),
  )
  const changes = list.data.pages.flatMap(page => page.changes)
  if (changes.length === 0) return <p className="inset muted">No past values.</p>
  return (
    <>
      <ErrorAlert title="Could not load past values." error={list.error} />
      <Table
        caption={`Past values of ${name}`}
        columns={COLUMNS}
        dense
        bare
        rows={changes.map((change, index) => (
          // The version alone is not unique: early versions of the hub began again at 1 when a removed property was set.
          <ValueRow
            key={`${change.version} ${change.changedAt}`}
            deviceId={deviceId}
            name={name}
            change={change}
            isCurrent={index === 0}
            expectedVersion={version}
          />
        ))}
      />
      {list.hasNextPage && (
        <div className={shared.foot}>
          <Button
            variant="ghost"
            size="sm"
            busy={list.isFetchingNextPage}
            busyLabel="Loading…"
            onClick={() => void list.fetchNextPage()}
          >
            Show earlier values
          </Button>
        </div>
      )}
    </>
  )
}

const COLUMNS: readonly Column[] = [
  { name: 'Set', kind: 'title' },
  { name: 'Value' },
  { name: 'By' },
  ACTIONS,
]

type ValueRowProps = {
  deviceId: string
  name: string
  change: Change
  isCurrent: boolean
  expectedVersion: number | undefined
}

function ValueRow({ deviceId, name, change, isCurrent, expectedVersion }: ValueRowProps) {
  const { value, isRemoved, changedAt } = change
  const set = useSetProperty()
  async function setAgain() {
    try {
      const { result } = await set.mutateAsync({
        deviceId,
        name,
        value,
        expectedVersion: expectedVersion ?? null,
      })
      if (result === 'Set') toast(`${name} was set again.`)
      else toast(`${name} has changed meanwhile and was not set.`)
    } catch (error) {
      toastError(`Could not set ${name}`, error)
    }
  }
  return (
    <Row>
      <Cell>
        <Time at={changedAt} />
      </Cell>
      <Cell>{isRemoved ? <span className="muted">Removed</span> : <JsonValue value={value} />}</Cell>
      <Cell>
        <bdi>{nameOf(change)}</bdi>
      </Cell>
      <Cell>
        {isCurrent ? (
          <span className="muted">current</span>
        ) : (
          !isRemoved && (
            <Button variant="ghost" size="sm" busy={set.isPending} onClick={() => void setAgain()}>
              Set again
              <span className="visually-hidden">
                {' '}
                to <ShortValue value={value} />
              </span>
            </Button>
          )
        )}
      </Cell>
    </Row>
  )
}
