import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { useStore } from '@tanstack/react-form'
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { useActionState } from '../../../../api/queries.ts'
import { bindText, submitForm, useTextForm } from '../../../../form/form.ts'
import { SubmitButton } from '../../../../form/SubmitButton.tsx'
import { counted, formatCount } from '../../../../lib/app/format.ts'
import { useDebounced } from '../../../../lib/app/use-debounced.ts'
import { Button } from '../../../../ui/Button.tsx'
import { Popover } from '../../../../ui/lazy/Popover.tsx'
import { SelectField } from '../../../../ui/lazy/SelectField.tsx'
import { TextField } from '../../../../ui/TextField.tsx'
import {
  CONDITION_COLUMNS,
  type Condition,
  filterOfConditions,
  isColumnName,
  isCondition,
  isTimeColumn,
  type Operator,
  operatorsFor,
  readCondition,
  readValue,
  subjectText,
  takenBy,
  writeConditionValue,
  writeValue,
} from '../../shared/conditions.ts'
import { Marked } from '../Marked.tsx'
import { propertyWords } from '../property-words.ts'
import styles from './ConditionPanel.module.css'
import { Note } from './Note.tsx'
import optionStyles from './Options.module.css'
import { type Option, Options } from './Options.tsx'
import panel from './panel.module.css'

type Filter = ActionInput<'projects_QueryDevices'>['filter']

type ConditionPanelProps = {
  projectId: string
  /** The filter of the list, with all conditions. */
  filter: Filter
  conditions: readonly Condition[]
  /** Index of the condition to change; `undefined` adds a new condition. */
  edited: number | undefined
  onChange: (conditions: Condition[]) => void
  opener: () => HTMLElement | null
  onClose: () => void
}

/** Pause in typing, in milliseconds, after which names, values and the number of matches are requested. */
const TYPING_MS = 250

/** Panel that adds or changes a condition on a property. It suggests properties and values that devices of the project have. */
export function ConditionPanel({
  projectId,
  filter,
  conditions,
  edited,
  onChange,
  opener,
  onClose,
}: ConditionPanelProps) {
  const before = edited === undefined ? undefined : conditions[edited]
  const form = useTextForm({
    defaultValues: {
      property: before?.property ?? '',
      operator: (before?.operator ?? 'equals') as Operator,
      value: before ? writeConditionValue(before) : '',
    },
    validate: typed => {
      const read = readCondition(typed)
      return isCondition(read) ? {} : read
    },
    submit: async typed => {
      const read = readCondition(typed)
      if (!isCondition(read)) return
      onChange(edited === undefined ? [...conditions, read] : conditions.with(edited, read))
    },
  })
  const id = useId()
  const typed = useStore(form.store, ({ values }) => values)
  const takes = takenBy(typed.operator)
  const [at, setAt] = useState<{ list: 'names' | 'values'; index: number }>()
  const fields = useRef<HTMLDivElement>(null)
  // Typing changes the options, so the arrow keys start again without a highlighted option.
  const [last, setLast] = useState(typed)
  if (last.property !== typed.property || last.value !== typed.value) {
    setLast(typed)
    setAt(undefined)
  }

  // Suggested values and counts are limited to devices that match the other parts of the filter.
  const others = edited === undefined ? conditions : conditions.toSpliced(edited, 1)
  const { properties: _, fields: __, ...otherParts } = filter ?? {}
  const rest: Filter = { ...otherParts, ...filterOfConditions(others) }
  const settled = useDebounced(typed, TYPING_MS)
  const property = readCondition({ ...settled, operator: 'exists', value: '' })
  const chosen = isCondition(property) ? property.property : undefined

  const part = subjectText(settled.property.trim())
  const names = useActionState(
    'projects_QueryPropertyNames',
    { projectId, namesOnly: true, ...(part && { text: part }) },
    { keepPrevious: true },
  ).data
  const isTime = isTimeColumn(chosen)
  const found = useActionState(
    'projects_QueryPropertyValues',
    { projectId, property: isTime ? 'none' : (chosen ?? 'none'), filter: rest },
    { enabled: chosen !== undefined && !isTime },
  ).data
  // Until typing pauses, `found` has the values of the previously typed property, which must not be offered for the new property.
  const values = settled.property === typed.property ? found : undefined

  const columnOptions = CONDITION_COLUMNS.filter(name =>
    subjectText(name).toLowerCase().includes(part.toLowerCase()),
  ).map(name => ({
    key: name,
    content: (
      <>
        <Marked className="truncated" text={subjectText(name)} part={part} />
        <small className="tiny muted tabular">column</small>
      </>
    ),
    choose: () => chooseSubject(name),
  }))
  const pathOptions = (names?.names ?? []).map(name => ({
    key: name.path,
    content: (
      <>
        <Marked className="mono truncated" text={name.path} part={part} />
        <small className="tiny muted tabular">{propertyWords(name)}</small>
      </>
    ),
    choose: () => chooseSubject(name.path),
  }))
  const nameOptions = [...columnOptions, ...pathOptions]
  const valueOptions = isTime ? timeOptions(choose) : values && chosen ? optionsOf(values, typed, choose) : []
  function chooseSubject(subject: string) {
    form.setFieldValue('property', subject)
    const operators = operatorsFor(subject)
    if (!operators.some(({ value }) => value === typed.operator))
      form.setFieldValue('operator', isTimeColumn(subject) ? 'greater' : 'equals')
    focusField('value')
  }
  function choose(operator: Operator | undefined, value: string) {
    if (operator) form.setFieldValue('operator', operator)
    form.setFieldValue('value', value)
    focusField(operator === 'absent' ? 'operator' : 'value')
  }
  function focusField(name: string) {
    fields.current?.querySelector<HTMLElement>(`[name="${name}"]`)?.focus()
  }

  function onKeyDown(list: 'names' | 'values', options: readonly Option[], event: KeyboardEvent) {
    const input = event.target as HTMLInputElement
    const active = at?.list === list ? at.index : -1
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1
      if (options.length === 0) return
      const next = active === -1 && step === -1 ? options.length - 1 : active + step
      const index = (next + options.length) % options.length
      setAt({ list, index })
      document.getElementById(`${id}-${list}-${index}`)?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter' && options[active]) {
      options[active].choose()
      setAt(undefined)
    } else if (
      event.key === 'ArrowRight' &&
      list === 'names' &&
      valueOptions.length > 0 &&
      input.selectionEnd === input.value.length
    ) {
      focusField('value')
      setAt({ list: 'values', index: 0 })
    } else return
    event.preventDefault()
  }
  const listProps = (list: 'names' | 'values', options: readonly Option[]) => ({
    role: 'combobox',
    'aria-autocomplete': 'list' as const,
    'aria-expanded': options.length > 0,
    'aria-controls': `${id}-${list}`,
    ...(at?.list === list && { 'aria-activedescendant': `${id}-${list}-${at.index}` }),
    onKeyDown: (event: KeyboardEvent) => onKeyDown(list, options, event),
  })

  const title = edited === undefined ? 'Add a condition' : 'Change the condition'
  return (
    <Popover label={title} className={`${panel.panel} ${styles.condition}`} opener={opener} onClose={onClose}>
      <h2 className="visually-hidden">{title}</h2>
      <form noValidate onSubmit={event => void submitForm(event, form)}>
        <div ref={fields} className={styles.fields}>
          <form.Field name="property">
            {field => (
              <TextField
                label="Property"
                required
                mono
                placeholder="version"
                spellCheck={false}
                {...bindText(field)}
                value={subjectText(field.state.value)}
                {...listProps('names', nameOptions)}
              />
            )}
          </form.Field>
          <form.Field name="operator">
            {field => (
              <SelectField
                label="Condition"
                required
                options={operatorsFor(typed.property)}
                {...bindText(field)}
              />
            )}
          </form.Field>
          {takes && (
            <form.Field name="value">
              {field => (
                <TextField
                  label="Value"
                  required
                  mono
                  spellCheck={false}
                  {...(takes === 'number' && { inputMode: 'decimal' as const })}
                  {...bindText(field)}
                  {...listProps('values', valueOptions)}
                />
              )}
            </form.Field>
          )}
        </div>
        <div className={styles.lists}>
          <div className={styles.names}>
            <h3>
              {part ? `Properties with “${part}”` : 'Properties'}
              {names && (
                <span>
                  {formatCount(names.matchCount)} of {formatCount(names.nameCount)}
                </span>
              )}
            </h3>
            <Options
              id={`${id}-names`}
              label="Properties"
              options={nameOptions}
              active={at?.list === 'names' ? at.index : undefined}
              chosenKey={chosen}
            />
            {/* The notes are below the options, so that an option does not move when the hub answers. */}
            {!names && <Note>Counting…</Note>}
            {names?.tookTooLong && <Note>Properties were not found within 2 s.</Note>}
            {names && names.names.length > 0 && (
              <Note>From the newest {counted(names.devicesRead, 'device')}.</Note>
            )}
          </div>
          <div className={styles.values}>
            {isTime ? <h3>Time since then</h3> : <ValuesHead chosen={chosen} values={values} />}
            <Options
              id={`${id}-values`}
              label="Suggestions"
              options={valueOptions}
              active={at?.list === 'values' ? at.index : undefined}
              chosenKey={JSON.stringify(readValue(typed.value.trim()))}
            />
            {values !== undefined && values.otherCount > 0 && (
              <Note>{counted(values.otherCount, 'device')} with an object, a list or a longer text.</Note>
            )}
            <p className={`tiny muted break-anywhere ${panel.note}`}>{HELP[helpOf(typed.property, takes)]}</p>
          </div>
        </div>
        <footer className="row">
          <WillMatch projectId={projectId} rest={rest} typed={settled} />
          <span className="grow" />
          <Button variant="ghost" onClick={onClose}>
            Cancel
          </Button>
          <SubmitButton form={form} busyLabel="Adding…">
            {edited === undefined ? 'Add' : 'Change'}
          </SubmitButton>
        </footer>
      </form>
    </Popover>
  )
}

const HELP = {
  value: 'Text, a number, true, false or null. A number in quotes is text.',
  text: 'Part of a text, in any case.',
  number: 'A number.',
  time: 'A time such as 90 min, 24 h or 7 d. Connected devices are seen now.',
  word: 'The exact text.',
  none: '',
}

function helpOf(subject: string, takes: ReturnType<typeof takenBy>): keyof typeof HELP {
  if (takes === undefined || !isColumnName(subject)) return takes ?? 'none'
  if (isTimeColumn(subject)) return 'time'
  return takes === 'value' ? 'word' : 'text'
}

/** Suggested durations for a condition on the time when a device was last seen. */
function timeOptions(choose: (operator: undefined, value: string) => void): Option[] {
  return ['1 h', '24 h', '7 d', '30 d'].map(value => ({
    key: JSON.stringify(value),
    content: <span className="mono">{value}</span>,
    choose: () => choose(undefined, value),
  }))
}

type Values = ActionOutput<'projects_QueryPropertyValues'>

function ValuesHead({ chosen, values }: { chosen: string | undefined; values: Values | undefined }) {
  if (!chosen) return <Note>Values of a property stand here.</Note>
  if (!values) return <Note>Counting…</Note>
  if (values.tookTooLong) return <Note>Values were not found within 2 s.</Note>
  return <h3>Values of the {counted(values.devicesRead, 'device')} that match so far</h3>
}

/** Values with the number of devices, most frequent first. Many different numbers are shown as their distribution. */
function optionsOf(
  values: Values,
  { property, value: typed }: { property: string; value: string },
  choose: (operator: Operator | undefined, value: string) => void,
): Option[] {
  const { numbers, absentCount, devicesRead } = values
  // The value of a condition on a column such as Version is always a text, so it needs no quotes.
  const textOf = isColumnName(property) ? String : writeValue
  const isSpread =
    numbers && numbers.deviceCount > values.values.length && values.distinctCount > MANY_NUMBERS
  const part = typed.trim().toLowerCase()
  const found = isSpread
    ? [
        { words: 'lowest', value: numbers.lowest },
        { words: 'lower quarter up to', value: numbers.lowerQuartile },
        { words: 'half up to', value: numbers.median },
        { words: 'three quarters up to', value: numbers.upperQuartile },
        { words: 'highest', value: numbers.highest },
      ].map(({ words, value }) => ({
        key: words,
        content: (
          <>
            <span className="secondary">{words}</span>
            <span className={`mono tabular ${optionStyles.number}`}>{value}</span>
          </>
        ),
        choose: () => choose(undefined, String(value)),
      }))
    : values.values
        .map(({ value, deviceCount }) => ({ value, text: textOf(value), deviceCount }))
        .filter(
          ({ text }) =>
            text.toLowerCase().includes(part) || values.values.some(one => textOf(one.value) === typed),
        )
        .map(({ value, text, deviceCount }) => ({
          key: JSON.stringify(value),
          content: (
            <Share count={deviceCount} of={devicesRead}>
              <bdi className="mono truncated">{text}</bdi>
            </Share>
          ),
          choose: () => choose(undefined, text),
        }))
  if (absentCount === 0) return found
  return [
    ...found,
    {
      key: 'absent',
      content: (
        <Share count={absentCount} of={devicesRead}>
          <span className="secondary">not there</span>
        </Share>
      ),
      choose: () => choose('absent', ''),
    },
  ]
}

/** Maximum number of different numbers that are listed one by one. For more, their distribution is shown. */
const MANY_NUMBERS = 12

/** A value with a bar for its share of the devices, and their number. */
function Share({ count, of, children }: { count: number; of: number; children: ReactNode }) {
  const share = `${Math.max(2, Math.round((100 * count) / Math.max(1, of)))}%`
  return (
    <>
      <span className={optionStyles.value}>{children}</span>
      <span className={optionStyles.share} aria-hidden="true">
        <i style={{ width: share }} />
      </span>
      <span className={`tabular ${optionStyles.count}`}>{formatCount(count)}</span>
    </>
  )
}

function withCondition(rest: Filter, condition: Condition): NonNullable<Filter> {
  const { properties = [], fields = [] } = filterOfConditions([condition])
  return {
    ...rest,
    properties: [...(rest?.properties ?? []), ...(properties ?? [])],
    fields: [...(rest?.fields ?? []), ...(fields ?? [])],
  }
}

type WillMatchProps = {
  projectId: string
  rest: Filter
  typed: { property: string; operator: Operator; value: string }
}

/** Number of devices that the filter will match with the typed condition: "29 of 41 devices will match". */
function WillMatch({ projectId, rest, typed }: WillMatchProps) {
  const condition = readCondition(typed)
  const isReady = isCondition(condition)
  const { data } = useActionState(
    'projects_QueryDeviceCounts',
    {
      projectId,
      filters: isReady ? [withCondition(rest, condition), rest ?? {}] : [{}],
    },
    { enabled: isReady },
  )
  if (!isReady) return <span role="status" />
  if (!data) return <span role="status">Counting…</span>
  const [count, of] = data.counts
  if (count == null || of == null)
    return <span role="status">– devices will match: counting took longer than 2 s</span>
  return (
    <span role="status">
      <b>{formatCount(count)}</b> of {counted(of, 'device')} will match
    </span>
  )
}
