import { MAX_LABELS } from '@muster/predicates'
import { lookUp } from '../../../lib/app/look-up.ts'
import type { ChangePreview } from './use-preview.ts'

/** Why devices are left out of a change, and what a person can do. */
type LeftOut = { why: string; way: string }

const REASONS: Readonly<Record<string, LeftOut>> = {
  TooManyLabels: { why: `They have ${MAX_LABELS} labels.`, way: 'More are not kept. Remove one first.' },
  ValueMissing: {
    why: 'They lack a value that the pattern needs.',
    way: 'Give them this label or host name first, or use another pattern.',
  },
  NameTooLong: { why: 'Their names would be too long.', way: 'Use a shorter pattern.' },
  NameInvalid: { why: 'The pattern gives them no valid name.', way: 'Use another pattern.' },
  DeviceDeleted: { why: 'They were deleted.', way: 'Nothing is to do.' },
}

/** Words for a reason for which a preview leaves devices out. */
export function leftOutWords(reason: string): LeftOut {
  return lookUp(REASONS, reason, { why: 'The hub leaves them out.', way: reason })
}

const PROBLEMS: Readonly<Record<string, LeftOut>> = {
  NotFound: { why: 'No device here has this key.', way: 'Check the column that names the device.' },
  Ambiguous: {
    why: 'Several devices have this key.',
    way: 'Choose a column that names one device, such as its id.',
  },
  Doubled: {
    why: 'An earlier row names the same device.',
    way: 'The earlier row counts. Remove one of both.',
  },
  Invalid: { why: 'A cell is no name or label.', way: 'Mend the cell, or leave out its column.' },
}

/** Words for what is wrong with rows of an import. */
export function problemWords(problem: string): LeftOut {
  return lookUp(PROBLEMS, problem, { why: 'The hub leaves them out.', way: problem })
}

/** Numbers of devices of a preview: that change, that have the values already, and that are left out for another reason. */
export function tallyOf({ changeCount, excluded, leftOutCount }: ChangePreview) {
  const already = excluded.find(({ reason }) => reason === 'AlreadySet')?.deviceCount ?? 0
  const others = excluded.filter(({ reason }) => reason !== 'AlreadySet')
  const leftOut = others.reduce((sum, { deviceCount }) => sum + deviceCount, leftOutCount)
  return { changing: changeCount, already, leftOut, others }
}
