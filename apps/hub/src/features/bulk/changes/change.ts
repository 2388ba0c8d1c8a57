import type { ActionOutput } from '@muster/actions'
import type { LabelValues } from '../../labels/index.ts'

/** A change of a label or of the name of a device, with the value before and after it. */
export type Change = NonNullable<
  ActionOutput<'devices_QueryBulkActionItems'>['items'][number]['changes']
>[number]

/** Name and labels of a device. */
export type Marks = { name: string | undefined; labels: Readonly<LabelValues> }

/** What a device shall have: a name, and labels by their keys; null removes. */
export type WantedMarks = {
  name?: string | null | undefined
  labels?: ReadonlyMap<string, string | null> | undefined
}

/** The value that a change is about; undefined if the device has none. */
export function valueIn({ name, labels }: Marks, label: string | undefined): string | undefined {
  if (label === undefined) return name
  return Object.hasOwn(labels, label) ? labels[label] : undefined
}

/** The changes that bring a device from what it has to what it shall have. */
export function changesTo(wanted: WantedMarks, marks: Marks): Change[] {
  const all: [string | undefined, string | null][] = [...(wanted.labels ?? [])]
  if (wanted.name !== undefined) all.unshift([undefined, wanted.name])
  return all.flatMap(([label, value]) => {
    const before = valueIn(marks, label)
    const after = value ?? undefined
    if (before === after) return []
    return [
      {
        ...(label !== undefined && { label }),
        ...(before !== undefined && { before }),
        ...(after !== undefined && { after }),
      },
    ]
  })
}

/** Number of labels of a device after changes. */
export function labelCountAfter(changes: readonly Change[], { labels }: Marks): number {
  let count = Object.keys(labels).length
  for (const { label, before, after } of changes) {
    if (label === undefined) continue
    if (before === undefined) count++
    if (after === undefined) count--
  }
  return count
}
