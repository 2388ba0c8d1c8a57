import type { ActionInput } from '@muster/actions/client'
import { LABELS } from '@muster/predicates'
import { Plus, X } from 'lucide-react'
import { Fragment, type ReactNode } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { focusHeading } from '../../../lib/focus-heading.ts'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Segments } from '../../../ui/app/Segments.tsx'
import type { ColumnView } from '../list/column-view.ts'
import chips from '../list/lazy/Chip.module.css'
import { type Condition, conditionText, conditionWords, isColumnName } from '../shared/conditions.ts'
import type { DeviceSearch } from '../shared/device-search.ts'
import type { OpenedView } from '../views/opened-view.ts'
import { ViewActions } from '../views/ViewActions.tsx'
import styles from './ConditionsLine.module.css'
import { type Edit, joinedAt, splitAt, withoutLeaf } from './edit-where.ts'
import { type Leaf, reasonOf } from './items.ts'
import { PredicateBox } from './PredicateBox.tsx'
import type { Where } from './read-where.ts'

type ConditionsLineProps = {
  projectId: string
  search: DeviceSearch
  where: Where | undefined
  opened: OpenedView | undefined
  onOpen: (opened: OpenedView) => void
  /** Columns and order of the list. */
  columns: ColumnView
  /** Input of the query for the list. */
  input: Omit<ActionInput<'projects_QueryDevices'>, 'cursor'>
  /** Whether the conditions are shown as text. */
  isText: boolean
  onText: (isText: boolean) => void
  onWhere: (where: string | undefined, shown: readonly string[]) => void
  onSearch: (next: { [Name in keyof DeviceSearch]?: string | undefined }) => void
  /** Called with the place of a condition to change. */
  onEdit: (place: string) => void
  onAdd: () => void
}

/** The conditions of the device list, as a form or as text, and beside them what can be done with the saved view. */
export function ConditionsLine({
  projectId,
  search,
  where,
  opened,
  onOpen,
  columns,
  input,
  isText,
  onText,
  onWhere,
  onSearch,
  onEdit,
  onAdd,
}: ConditionsLineProps) {
  const deviceCount = useActionState('projects_GetDetails', { projectId }).data?.deviceCount
  const isNested = where !== undefined && where.items === undefined
  const isTextShown = isText || isNested
  // A wrong text says by itself what is wrong.
  const predicate = isNested ? where.filter.predicate : undefined
  const note = predicate && reasonOf(predicate)
  const edit = ({ text, where: { shown } }: Edit) => {
    focusHeading()
    onWhere(text, shown)
  }
  return (
    <section className={styles.line} aria-label="Conditions">
      {isTextShown ? (
        <div className={styles.input}>
          <PredicateBox
            projectId={projectId}
            deviceCount={deviceCount}
            text={where?.text ?? ''}
            isWrong={where?.problem !== undefined}
            takesFocus={isText}
            onChange={onWhere}
            onLeave={() => {
              focusHeading()
              onText(false)
            }}
          />
          {note && (
            <p className={`tiny muted ${styles.note}`} role="status">
              {note}
            </p>
          )}
        </div>
      ) : (
        <div className={`wrap ${styles.form}`}>
          {where?.items?.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the form may hold the same condition twice
            <Fragment key={index}>
              {index > 0 && (
                <button
                  type="button"
                  className={styles.join}
                  aria-label="Joined with and. Change to or"
                  onClick={() => edit(joinedAt(where, index))}
                >
                  and
                </button>
              )}
              {'any' in item ? (
                // biome-ignore lint/a11y/useSemanticElements: a field set would have a frame and a legend
                <div role="group" aria-label="Any of" className={styles.any}>
                  <button
                    type="button"
                    className={styles.join}
                    aria-label="Joined with or. Change to and"
                    onClick={() => edit(splitAt(where, index))}
                  >
                    any of
                  </button>
                  <Chips
                    leaves={item.any}
                    placeOf={inner => `${index}.${inner}`}
                    onEdit={onEdit}
                    onRemove={place => edit(withoutLeaf(where, place))}
                  />
                </div>
              ) : (
                <Chips
                  leaves={[item]}
                  placeOf={() => String(index)}
                  onEdit={onEdit}
                  onRemove={place => edit(withoutLeaf(where, place))}
                />
              )}
            </Fragment>
          ))}
          {where ? (
            <IconButton size="sm" icon={Plus} label="Add one more condition" onClick={onAdd} />
          ) : (
            <span className="muted">No conditions</span>
          )}
        </div>
      )}
      <div className={styles.actions}>
        <ViewActions
          projectId={projectId}
          search={search}
          opened={opened}
          onOpen={onOpen}
          columns={columns}
          input={input}
          onSearch={onSearch}
        />
        <Segments<'form' | 'text'>
          label="Form or text"
          value={isTextShown ? 'text' : 'form'}
          options={[
            { value: 'form', label: 'Form', isOff: isNested },
            { value: 'text', label: 'Text' },
          ]}
          onChange={value => onText(value === 'text')}
        />
      </div>
    </section>
  )
}

type ChipsProps = {
  leaves: readonly Leaf[]
  placeOf: (index: number) => string
  onEdit: (place: string) => void
  onRemove: (place: string) => void
}

/** Conditions side by side. A click changes a condition, its cross removes it. */
function Chips({ leaves, placeOf, onEdit, onRemove }: ChipsProps) {
  return (
    <ul className={`wrap ${chips.chips}`} aria-label="Conditions">
      {leaves.map(({ condition }, index) => {
        const place = placeOf(index)
        const text = conditionText(condition)
        return (
          <li key={place} data-condition={place}>
            <button
              type="button"
              className={`truncated ${chips.words}`}
              aria-haspopup="dialog"
              aria-label={`Change condition: ${text}`}
              onClick={() => onEdit(place)}
            >
              <Words condition={condition} />
            </button>
            <button
              type="button"
              className={chips.remove}
              aria-label={`Remove condition: ${text}`}
              onClick={() => onRemove(place)}
            >
              <X className="icon small-icon" aria-hidden />
            </button>
          </li>
        )
      })}
    </ul>
  )
}

function Words({ condition }: { condition: Condition }): ReactNode {
  const { subject, label, value } = conditionWords(condition)
  return (
    <>
      <span className={isColumnName(condition.property) ? undefined : 'mono'}>
        {subject.replace(`${LABELS}.`, 'label.')}
      </span>{' '}
      {label}
      {value && (
        <>
          {' '}
          <bdi className="mono">{value}</bdi>
        </>
      )}
    </>
  )
}
