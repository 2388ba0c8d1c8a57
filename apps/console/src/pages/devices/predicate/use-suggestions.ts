import { DEVICE_FIELDS, type DeviceFieldName, LABELS, printPredicate } from '@muster/predicates'
import { useActionState } from '../../../api/queries.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { useDebounced } from '../../../lib/app/use-debounced.ts'
import { propertyWords } from '../list/property-words.ts'
import {
  type ColumnName,
  isColumnName,
  labelOf,
  PROPERTY,
  subjectText,
  typeOfSubject,
} from '../shared/conditions.ts'
import { subjectExpr } from './items.ts'
import type { TextPlace } from './place-in-text.ts'

/** A word that may stand at a place of the text. */
type Suggestion = {
  /** Text that replaces the typed part. */
  text: string
  /** Shown text, if it is not the same. */
  shown?: string
  /** Grey words beside it. */
  words?: string
}

/** Suggestions under a heading, with the number of all. */
export type Suggestions = { heading: string; aside: string; options: Suggestion[] }

/** Pause in typing, in milliseconds, after which names and values are requested. */
const TYPING_MS = 150
/** Most suggestions in the list. */
const MOST = 50
const COUNTED_FIELDS = ['#version', '#update', '#updateError']

/** Suggestions for a place in the text of a predicate. Names and values are those of the project's devices. */
export function useSuggestions(projectId: string, place: TextPlace | undefined): Suggestions | undefined {
  const part = useDebounced(place?.part ?? '', TYPING_MS)
  const wanted = place?.wanted
  const subject = wanted && 'subject' in wanted ? wanted.subject : undefined
  const ofValues = wanted?.kind === 'value' ? subject : undefined
  const hasCounts = ofValues !== undefined && (PROPERTY.test(ofValues) || COUNTED_FIELDS.includes(ofValues))
  const text = part && { text: part }
  const isName = wanted?.kind === 'property' || (wanted?.kind === 'subject' && part.length > 1)
  // While a person types "label", all labels are suggested.
  const keyText = wanted?.kind === 'subject' && 'label'.startsWith(part) ? '' : text
  const names = useActionState(
    'projects_QueryPropertyNames',
    { projectId, namesOnly: true, ...text },
    { enabled: isName, keepPrevious: true },
  ).data
  const isKey = wanted?.kind === 'label' || (wanted?.kind === 'subject' && part.length > 1)
  const keys = useActionState(
    'projects_QueryLabelKeys',
    { projectId, limit: MOST, ...keyText },
    { enabled: isKey, keepPrevious: true },
  ).data
  const values = useActionState(
    'projects_QueryPropertyValues',
    { projectId, property: hasCounts ? ofValues : 'none', limit: MOST },
    { enabled: hasCounts },
  ).data
  if (!place || !wanted) return undefined
  const typed = place.part.toLowerCase()
  const like = (options: Suggestion[]) =>
    options.filter(({ text, shown }) => (shown ?? text).toLowerCase().includes(typed)).slice(0, MOST)
  switch (wanted.kind) {
    case 'label':
      return listed('Labels', like((keys?.keys ?? []).map(keyOption)), keys?.keyCount)
    case 'field':
      return listed('Fields of a device', like(FIELDS))
    case 'property':
      return listed('Properties', like((names?.names ?? []).flatMap(quotedOption)), names?.matchCount)
    case 'operator':
      return listed('Operators', like(operatorsFor(subject)))
    case 'join':
      return listed('Operators', like(JOINS))
    case 'value': {
      const options = [
        ...(wanted.isList && part === '' ? [{ text: '] ', shown: ']', words: 'end of the list' }] : []),
        ...valueOptions(wanted.subject, values),
      ]
      return listed(ofValues === undefined ? 'Values' : `Values of ${wordsOf(ofValues)}`, like(options))
    }
    default: {
      const found = [
        ...(keys?.keys ?? []).map(keyOption).map(key => ({
          ...key,
          text: `label${key.text}`,
          shown: `label.${key.shown}`,
        })),
        ...FIELDS.map(field => ({ ...field, text: `device.${field.text}` })),
        ...(names?.names ?? []).flatMap(nameOption),
        ...WORDS,
      ]
      return listed('What a device has', like(part.length > 1 ? found : WORDS))
    }
  }
}

function listed(heading: string, options: Suggestion[], count = options.length): Suggestions {
  return { heading, aside: `${formatCount(options.length)} of ${formatCount(count)}`, options }
}

const FIELDS: Suggestion[] = (Object.keys(DEVICE_FIELDS) as DeviceFieldName[]).map(field => ({
  text: `${field} `,
  words: subjectText(`#${field}` as ColumnName),
}))

const WORDS: Suggestion[] = [
  { text: 'label.', words: 'a label' },
  { text: 'device.', words: 'a field of the device' },
  { text: 'property["', words: 'a property by its name' },
  { text: 'not ', words: 'the opposite' },
  { text: 'exists ', words: 'whether it is there' },
]

const JOINS: Suggestion[] = [
  { text: 'and ', words: 'both hold' },
  { text: 'or ', words: 'one of them holds' },
]

function operatorsFor(subject: string | undefined): Suggestion[] {
  const type = subject === undefined ? undefined : typeOfSubject(subject)
  if (type === 'boolean') return JOINS
  const orders = [
    { text: '< ', words: type === 'time' ? 'earlier than' : 'less than' },
    { text: '<= ', words: 'at most' },
    { text: '> ', words: type === 'time' ? 'later than' : 'greater than' },
    { text: '>= ', words: 'at least' },
  ]
  if (type === 'time') return orders
  const isText = type === 'text' || (subject !== undefined && labelOf(subject) !== undefined)
  return [
    { text: '= ', words: 'is' },
    { text: '!= ', words: 'is there, but not' },
    { text: 'in [', words: 'is one of' },
    ...(type === 'count' ? [] : [{ text: 'contains ', words: 'part of a text, in any case' }]),
    ...(isText ? [] : orders),
    ...(type === 'count' ? [] : [{ text: 'satisfies "', words: 'a version such as >=1.2.0' }]),
    { text: 'else ', words: 'a value for devices without it' },
  ]
}

function keyOption({
  key,
  valueCount,
  deviceCount,
}: {
  key: string
  valueCount: number
  deviceCount: number
}) {
  const reference = subjectToText(`dev.muster.labels.${key}`)
  const words = `${counted(valueCount, 'value')}, ${counted(deviceCount, 'device')}`
  return { text: `${reference.slice('label'.length)} `, shown: key, words }
}

function nameOption(name: Parameters<typeof propertyWords>[0]): Suggestion[] {
  const { path } = name
  // Labels have a form of their own.
  const isLabel = labelOf(path) !== undefined || path === LABELS
  return isLabel ? [] : [{ text: `${subjectToText(path)} `, shown: path, words: propertyWords(name) }]
}

function quotedOption(name: Parameters<typeof propertyWords>[0]): Suggestion[] {
  return nameOption(name).map(option => ({ ...option, text: `property[${JSON.stringify(option.shown)}] ` }))
}

/** A subject in the text form. */
export function subjectToText(subject: string): string {
  return printPredicate(subjectExpr(subject))
}

function wordsOf(subject: string): string {
  return isColumnName(subject) ? subjectText(subject) : (labelOf(subject) ?? subject)
}

type Values = { values: { value: string | number | boolean | null; deviceCount: number }[] }

function valueOptions(subject: string | undefined, values: Values | undefined): Suggestion[] {
  const type = subject === undefined ? undefined : typeOfSubject(subject)
  if (subject === '#status')
    return ['healthy', 'warning', 'error', 'offline'].map(text => ({
      text: JSON.stringify(text),
      shown: text,
    }))
  if (type === 'boolean') return [{ text: 'true ' }, { text: 'false ' }]
  if (type === 'time') return ['1 h ago ', '24 h ago ', '7 d ago ', '30 d ago '].map(text => ({ text }))
  return (values?.values ?? []).map(({ value, deviceCount }) => ({
    text: JSON.stringify(value),
    shown: String(value),
    words: counted(deviceCount, 'device'),
  }))
}
