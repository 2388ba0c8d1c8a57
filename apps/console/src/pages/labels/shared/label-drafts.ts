import { isLabelKey, MAX_LABEL_LENGTH, MAX_LABELS } from '@muster/predicates'

/** A label while it is typed. */
export type LabelDraft = { key: string; value: string }

/** Rule for keys, shown to a person who typed another text. */
export const KEY_RULE = 'Small letters, digits, dot, dash, underscore, up to 63.'

/** Error text of a typed label; undefined for a valid one. The hub checks labels again. */
function labelProblem({ key, value }: LabelDraft): string | undefined {
  if (!isLabelKey(key.trim())) return KEY_RULE
  return valueProblem(value)
}

/** Error text of a typed value of a label; undefined for a valid one. */
export function valueProblem(value: string): string | undefined {
  if (value.trim() === '') return 'A label needs a value.'
  return [...value.trim()].length > MAX_LABEL_LENGTH
    ? `A value has at most ${MAX_LABEL_LENGTH} characters.`
    : undefined
}

/** Labels as the text of a form's field, in which each row is a label that may not be complete. */
export function writeDrafts(drafts: readonly LabelDraft[]): string {
  return JSON.stringify(drafts)
}

/** The labels of a form's field. */
export function readDrafts(text: string): LabelDraft[] {
  return JSON.parse(text) as LabelDraft[]
}

/** Drafts of existing labels, in the order of their keys. */
export function draftsOf(labels: Readonly<Record<string, string>> = {}): LabelDraft[] {
  return Object.entries(labels)
    .map(([key, value]) => ({ key, value }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
}

/** Values of the typed labels by their keys. Rows without any text are left out. */
export function labelsOfDrafts(drafts: readonly LabelDraft[]): Record<string, string> {
  return Object.fromEntries(typed(drafts).map(({ key, value }) => [key.trim(), value.trim()]))
}

/** Error text of the first label that is not valid, with its key; undefined if all are. */
export function draftsProblem(drafts: readonly LabelDraft[]): string | undefined {
  const labels = typed(drafts)
  if (labels.length > MAX_LABELS) return `${MAX_LABELS} labels are the most.`
  for (const [index, draft] of labels.entries()) {
    const key = draft.key.trim()
    const problem = labelProblem(draft)
    if (problem) return key === '' ? `Label ${index + 1}: ${problem}` : `${key}: ${problem}`
    if (labels.slice(0, index).some(other => other.key.trim() === key))
      return `${key}: This label is here twice.`
  }
  return undefined
}

function typed(drafts: readonly LabelDraft[]): readonly LabelDraft[] {
  return drafts.filter(({ key, value }) => key.trim() !== '' || value.trim() !== '')
}
