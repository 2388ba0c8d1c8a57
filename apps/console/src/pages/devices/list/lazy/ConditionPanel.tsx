import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { LABELS, problemsOf } from '@muster/predicates'
import { useStore } from '@tanstack/react-form'
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { useActionState } from '../../../../api/queries.ts'
import { bindText, submitForm, useTextForm } from '../../../../form/form.ts'
import { SubmitButton } from '../../../../form/SubmitButton.tsx'
import { counted, formatCount } from '../../../../lib/app/format.ts'
import { useDebounced } from '../../../../lib/app/use-debounced.ts'
import { Segments } from '../../../../ui/app/Segments.tsx'
import { Button } from '../../../../ui/Button.tsx'
import { Popover } from '../../../../ui/lazy/Popover.tsx'
import { SelectField } from '../../../../ui/lazy/SelectField.tsx'
import { TextField } from '../../../../ui/TextField.tsx'
import { leafAt, withLeaf, withoutLeaf } from '../../predicate/edit-where.ts'
import { leafOf } from '../../predicate/items.ts'
import type { Where } from '../../predicate/read-where.ts'
import {
  CONDITION_COLUMNS,
  type Condition,
  DEVICE_SUBJECTS,
  isColumnName,
  isCondition,
  isTimeColumn,
  labelOf,
  OPERATORS,
  type Operator,
  operatorsFor,
  PROPERTY,
  readCondition,
  readValue,
  type Scalar,
  subjectText,
  takenBy,
  typeOfSubject,
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
  where: Where | undefined
  /** Place of the condition to change; `undefined` adds a new condition. */
  edited: string | undefined
  /** Called with the search parameter for the conditions, and the properties that then get a column. */
  onChange: (where: string | undefined, shown: readonly string[]) => void
  /** Called to write the conditions as text. */
  onText: () => void
  opener: () => HTMLElement | null
  onClose: () => void
}

/** Pause in typing, in milliseconds, after which names, values and the number of matches are requested. */
const TYPING_MS = 250

/** Panel that adds or changes a condition on a property. It suggests properties and values that devices of the project have. */
export function ConditionPanel({
  projectId,
  filter,
  where,
  edited,
  onChange,
  onText,
  opener,
  onClose,
}: ConditionPanelProps) {
  const before = edited === undefined ? undefined : leafAt(where, edited)?.condition
  const [source, setSource] = useState<Source>(() => sourceOf(before?.property))
  const form = useTextForm({
    defaultValues: {
      property: before?.property ?? '',
      operator: (before?.operator ?? 'equals') as Operator,
      value: before ? writeConditionValue(before) : '',
    },
    validate: typed => {
      const read = readCondition(typed)
      return isCondition(read) ? problemOf(read) : read
    },
    submit: async typed => {
      const read = readCondition(typed)
      if (!isCondition(read)) return
      const edit = withLeaf(where, edited, leafOf(read))
      onChange(edit.text, edit.where.shown)
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
  const { properties: _, fields: __, predicate: ___, ...otherParts } = filter ?? {}
  const others = where && edited !== undefined ? withoutLeaf(where, edited).where : where
  const rest: Filter = { ...otherParts, ...others?.filter }
  const settled = useDebounced(typed, TYPING_MS)
  const property = readCondition({ ...settled, operator: 'exists', value: '' })
  const named = settled.property.trim()
  const chosen = isColumnName(named) ? named : isCondition(property) ? property.property : undefined

  const part = shownSubject(source, settled.property.trim())
  const names = useActionState(
    'projects_QueryPropertyNames',
    { projectId, namesOnly: true, ...(part && { text: part }) },
    { enabled: source === 'properties', keepPrevious: true },
  ).data
  const keys = useActionState(
    'projects_QueryLabelKeys',
    { projectId, limit: 50, ...(part && { text: part }) },
    { enabled: source === 'labels', keepPrevious: true },
  ).data
  const isTime = isTimeColumn(chosen)
  const hasValues = chosen !== undefined && (PROPERTY.test(chosen) || COUNTED_FIELDS.includes(chosen))
  const found = useActionState(
    'projects_QueryPropertyValues',
    { projectId, property: hasValues ? chosen : 'none', filter: rest },
    { enabled: hasValues },
  ).data
  // Until typing pauses, `found` has the values of the previously typed property, which must not be offered for the new property.
  const values = settled.property === typed.property ? found : undefined

  const columns = source === 'device' ? DEVICE_SUBJECTS : source === 'properties' ? CONDITION_COLUMNS : []
  const columnOptions = columns
    .filter(name => subjectText(name).toLowerCase().includes(part.toLowerCase()))
    .map(name => ({
      key: name as string,
      content: (
        <>
          <Marked className="truncated" text={subjectText(name)} part={part} />
          <small className="tiny muted tabular">
            {source === 'device' ? TYPE_WORDS[typeOfSubject(name)!] : 'column'}
          </small>
        </>
      ),
      choose: () => chooseSubject(name),
    }))
  const keyOptions = (source === 'labels' ? (keys?.keys ?? []) : []).map(
    ({ key, valueCount, deviceCount }) => ({
      key: `${LABELS}.${key}`,
      content: (
        <>
          <Marked className="mono truncated" text={key} part={part} />
          <small className="tiny muted tabular">
            {counted(valueCount, 'value')}, {counted(deviceCount, 'device')}
          </small>
        </>
      ),
      choose: () => chooseSubject(`${LABELS}.${key}`),
    }),
  )
  const pathOptions = (source === 'properties' ? (names?.names ?? []) : []).map(name => ({
    key: name.path,
    content: (
      <>
        <Marked className="mono truncated" text={name.path} part={part} />
        <small className="tiny muted tabular">{propertyWords(name)}</small>
      </>
    ),
    choose: () => chooseSubject(name.path),
  }))
  const nameOptions = [...keyOptions, ...columnOptions, ...pathOptions]
  const valueOptions =
    chosen === undefined
      ? []
      : isTime
        ? timeOptions(choose)
        : (fixedOptions(chosen, choose) ?? (values ? optionsOf(values, typed, choose) : []))
  function changeSource(next: Source) {
    setSource(next)
    form.setFieldValue('property', '')
    form.setFieldValue('value', '')
    focusField('property')
  }
  function chooseSubject(subject: string) {
    form.setFieldValue('property', subject)
    const operators = operatorsFor(subject)
    if (!operators.some(({ value }) => value === typed.operator))
      form.setFieldValue('operator', isTimeColumn(subject) ? 'greater' : 'equals')
    focusField('value')
  }
  function choose(operator: Operator | undefined, value: string) {
    if (operator) form.setFieldValue('operator', operator)
    // A list takes one more value, or gives one up.
    const isList = !operator && takes === 'list'
    form.setFieldValue('value', isList ? toggledIn(typed, value) : value)
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
      <div className={`row ${styles.source}`}>
        <Segments label="Compare" value={source} options={SOURCES} onChange={changeSource} />
        <span className="grow" />
        <Button size="sm" variant="ghost" onClick={onText}>
          Write as text
        </Button>
      </div>
      <form noValidate onSubmit={event => void submitForm(event, form)}>
        <div ref={fields} className={styles.fields}>
          <form.Field name="property">
            {field => (
              <TextField
                label={FIELD_LABELS[source]}
                required
                mono
                placeholder={PLACEHOLDERS[source]}
                spellCheck={false}
                {...bindText(field)}
                value={shownSubject(source, field.state.value)}
                onChange={text => field.handleChange(subjectIn(source, text))}
                {...listProps('names', nameOptions)}
              />
            )}
          </form.Field>
          <form.Field name="operator">
            {field => (
              <SelectField
                label="Condition"
                required
                options={withOperator(operatorsFor(typed.property), typed.operator)}
                {...bindText(field)}
              />
            )}
          </form.Field>
          {takes && (
            <form.Field name="value">
              {field => (
                <TextField
                  label={takes === 'list' ? 'Values' : 'Value'}
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
              {part ? `${NAMES[source]} with “${part}”` : NAMES[source]}
              {names && source === 'properties' && (
                <span>
                  {formatCount(names.matchCount)} of {formatCount(names.nameCount)}
                </span>
              )}
            </h3>
            <Options
              id={`${id}-names`}
              label={NAMES[source]}
              options={nameOptions}
              active={at?.list === 'names' ? at.index : undefined}
              chosenKey={chosen}
            />
            {/* The notes are below the options, so that an option does not move when the hub answers. */}
            {!names && source === 'properties' && <Note>Counting…</Note>}
            {!keys && source === 'labels' && <Note>Counting…</Note>}
            {keys?.keyCount === 0 && <Note>No device has {part ? 'such ' : ''}a label.</Note>}
            {keys?.tookTooLong && <Note>Labels were not found within 2 s.</Note>}
            {names?.tookTooLong && <Note>Properties were not found within 2 s.</Note>}
            {source === 'properties' && names && names.names.length > 0 && (
              <Note>From the newest {counted(names.devicesRead, 'device')}.</Note>
            )}
          </div>
          <div className={styles.values}>
            {isTime ? (
              <h3>Time since then</h3>
            ) : hasValues || chosen === undefined ? (
              <ValuesHead chosen={chosen} values={values} />
            ) : (
              valueOptions.length > 0 && <h3>Values</h3>
            )}
            <Options
              id={`${id}-values`}
              label="Suggestions"
              options={valueOptions}
              active={at?.list === 'values' ? at.index : undefined}
              chosenKey={JSON.stringify(readValue(typed.value.trim()))}
              {...(takes === 'list' && { chosenKeys: chosenKeys(typed) })}
            />
            {values !== undefined && values.otherCount > 0 && (
              <Note>{counted(values.otherCount, 'device')} with an object, a list or a longer text.</Note>
            )}
            <p className={`tiny muted break-anywhere ${panel.note}`}>
              {HELP[helpOf(typed.property, takes, typed.operator)]}
            </p>
          </div>
        </div>
        <footer className="row">
          <WillMatch projectId={projectId} rest={rest} others={others} typed={settled} />
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
  list: 'Values with commas between them. Choose a value again to take it out.',
  requirement: 'Comparisons with versions, such as >=1.2.0, <2.0.0.',
  truth: 'true or false.',
  text: 'Part of a text, in any case.',
  number: 'A number.',
  time: 'A time such as 90 min, 24 h or 7 d. Connected devices are seen now.',
  word: 'The exact text.',
  none: '',
}

function helpOf(subject: string, takes: ReturnType<typeof takenBy>, operator: Operator): keyof typeof HELP {
  if (operator === 'satisfies') return 'requirement'
  if (typeOfSubject(subject) === 'boolean') return 'truth'
  if (takes === 'value' && labelOf(subject) !== undefined) return 'word'
  const isNumber = typeOfSubject(subject) === 'count' && takes !== undefined && takes !== 'list'
  if (isNumber) return 'number'
  if (takes === undefined || takes === 'list' || !isColumnName(subject)) return takes ?? 'none'
  if (isTimeColumn(subject)) return 'time'
  return takes === 'value' ? 'word' : 'text'
}

/** Where the subject of a condition comes from. */
type Source = 'labels' | 'properties' | 'device'

const SOURCES: { value: Source; label: string }[] = [
  { value: 'labels', label: 'Labels' },
  { value: 'properties', label: 'Properties' },
  { value: 'device', label: 'Device' },
]
const NAMES: Record<Source, string> = { labels: 'Labels', properties: 'Properties', device: 'Fields' }
const FIELD_LABELS: Record<Source, string> = { labels: 'Label', properties: 'Property', device: 'Field' }
const PLACEHOLDERS: Record<Source, string> = { labels: 'site', properties: 'version', device: 'Connected' }
const TYPE_WORDS = { text: 'text', time: 'time', count: 'number', boolean: 'true or false' }
/** Fields whose values the hub counts. */
const COUNTED_FIELDS = ['#version', '#update', '#updateError']

function sourceOf(subject: string | undefined): Source {
  if (subject === undefined || CONDITION_COLUMNS.includes(subject as '#version')) return 'properties'
  if (labelOf(subject) !== undefined) return 'labels'
  return isColumnName(subject) ? 'device' : 'properties'
}

/** The subject as its field shows it. */
function shownSubject(source: Source, subject: string): string {
  const prefix = `${LABELS}.`
  if (source === 'labels') return subject.startsWith(prefix) ? subject.slice(prefix.length) : subject
  return subjectText(subject)
}

/** The subject that a person has typed. */
function subjectIn(source: Source, text: string): string {
  const typed = text.trim()
  if (source === 'labels') return typed && `${LABELS}.${typed}`
  const words = typed.toLowerCase()
  const field = source === 'device' && DEVICE_SUBJECTS.find(one => subjectText(one).toLowerCase() === words)
  return field || text
}

/** Problems of a condition that only its expression shows. */
function problemOf(condition: Condition): { property?: string; value?: string } {
  const { property, operator } = condition
  if (property.startsWith(`${LABELS}.`) && labelOf(property) === undefined)
    return { property: 'Small letters, digits, dot, dash, underscore, up to 63.' }
  try {
    const { expr } = leafOf(condition)
    const [wrong] = problemsOf(expr)
    if (!wrong) return {}
    return operator === 'satisfies'
      ? { value: 'Please enter comparisons such as >=1.2.0, <2.0.0.' }
      : { value: `Found ${wrong.found}, expected ${wrong.expected}.` }
  } catch {
    return { property: 'Please enter the name of a property.' }
  }
}

/** The operators with one more that only the text form writes, if the condition has it. */
function withOperator(operators: ReturnType<typeof operatorsFor>, operator: Operator) {
  const present = OPERATORS.find(({ value }) => value === operator)!
  return operator === 'differs' ? [...operators, present] : operators
}

function valuesIn({ property, value }: { property: string; value: string }): Scalar[] {
  const read = readCondition({ property, operator: 'oneOf', value })
  return isCondition(read) && Array.isArray(read.value) ? read.value : []
}

/** Keys of the options that a list of values holds. */
function chosenKeys(typed: { property: string; value: string }): string[] {
  return valuesIn(typed).map(value => JSON.stringify(value))
}

/** The list of values with one more, or without one that it had. */
function toggledIn(typed: { property: string; value: string }, text: string): string {
  const { property } = typed
  const [chosen] = valuesIn({ property, value: text })
  const values = valuesIn(typed)
  const others = values.filter(value => value !== chosen)
  const next = others.length < values.length ? others : [...values, chosen!]
  return writeConditionValue({ property, operator: 'oneOf', value: next })
}

/** Values of fields that have only a few. */
function fixedOptions(
  subject: string,
  choose: (operator: undefined, value: string) => void,
): Option[] | undefined {
  const values =
    typeOfSubject(subject) === 'boolean'
      ? ['true', 'false']
      : subject === '#status'
        ? ['healthy', 'warning', 'error', 'offline']
        : undefined
  return values?.map(value => ({
    key: JSON.stringify(subject === '#status' ? value : value === 'true'),
    content: <span className="mono">{value}</span>,
    choose: () => choose(undefined, value),
  }))
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
  { property, operator, value: typed }: { property: string; operator: Operator; value: string },
  choose: (operator: Operator | undefined, value: string) => void,
): Option[] {
  const { numbers, absentCount, devicesRead } = values
  // The value of a condition on a column such as Version is always a text, so it needs no quotes.
  const textOf = isColumnName(property) ? String : writeValue
  const isSpread =
    numbers && numbers.deviceCount > values.values.length && values.distinctCount > MANY_NUMBERS
  const isList = takenBy(operator) === 'list'
  const part = (isList ? '' : typed).trim().toLowerCase()
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

/** The filter with one more condition. */
function withCondition(rest: Filter, others: Where | undefined, condition: Condition): NonNullable<Filter> {
  const { properties: _, fields: __, predicate: ___, ...parts } = rest ?? {}
  return { ...parts, ...withLeaf(others, undefined, leafOf(condition)).where.filter }
}

type WillMatchProps = {
  projectId: string
  rest: Filter
  /** The other conditions, which `rest` has too. */
  others: Where | undefined
  typed: { property: string; operator: Operator; value: string }
}

/** Number of devices that the filter will match with the typed condition: "29 of 41 devices will match". */
function WillMatch({ projectId, rest, others, typed }: WillMatchProps) {
  const condition = readCondition(typed)
  const isReady = isCondition(condition) && Object.keys(problemOf(condition)).length === 0
  const { data } = useActionState(
    'projects_QueryDeviceCounts',
    {
      projectId,
      filters: isReady ? [withCondition(rest, others, condition), rest ?? {}] : [{}],
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
