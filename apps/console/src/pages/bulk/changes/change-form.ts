import type { ActionInput } from '@muster/actions/client'
import { isLabelKey, NamePatternError, readNamePattern } from '@muster/predicates'
import { draftsProblem, KEY_RULE, type LabelDraft, labelsOfDrafts } from '../../labels/shared/label-drafts.ts'

/** Forms of changes of selected devices. */
export type ChangeForm = 'set' | 'remove' | 'rename'

/** What a person has typed into the form of a change. */
export type TypedChange = {
  drafts: readonly LabelDraft[]
  pattern: string
  firstIndex: string
}

type LabelsInput = Pick<ActionInput<'devices_CreateBulkLabels'>, 'set' | 'remove'>
type RenameInput = Pick<ActionInput<'devices_CreateBulkRename'>, 'pattern' | 'firstIndex'>

/** A change as the hub takes it, or what is wrong with a field. Both are undefined while nothing is typed. */
export type ReadChange = {
  labels?: LabelsInput
  rename?: RenameInput
  problem?: string
  indexProblem?: string
}

/** Reads the typed change. */
export function readChange(form: ChangeForm, { drafts, pattern, firstIndex }: TypedChange): ReadChange {
  if (form === 'rename') return readRename(pattern, firstIndex)
  if (form === 'remove') {
    const remove = [...new Set(drafts.map(({ key }) => key.trim()).filter(key => key !== ''))]
    if (remove.length === 0) return {}
    return remove.every(isLabelKey) ? { labels: { remove } } : { problem: KEY_RULE }
  }
  if (drafts.every(({ key, value }) => key.trim() === '' && value.trim() === '')) return {}
  const problem = draftsProblem(drafts)
  return problem === undefined ? { labels: { set: labelsOfDrafts(drafts) } } : { problem }
}

function readRename(pattern: string, firstIndex: string): ReadChange {
  if (pattern.trim() === '') return {}
  const index = firstIndex.trim() === '' ? 1 : Number(firstIndex)
  const isIndex = Number.isInteger(index) && index >= 0 && index <= 4_294_967_295
  try {
    readNamePattern(pattern)
  } catch (error) {
    if (!(error instanceof NamePatternError)) throw error
    const { column, found, expected } = error
    return { problem: `Column ${column}: found ${found}, expected ${expected}.` }
  }
  return isIndex
    ? { rename: { pattern, firstIndex: index } }
    : { indexProblem: 'Please enter a whole number, or nothing for 1.' }
}
