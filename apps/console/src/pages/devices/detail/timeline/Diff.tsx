import styles from './Diff.module.css'
import type { EntryOf } from './entry.ts'
import { ShortValue } from './ShortValue.tsx'
import { changedMembers } from './update-change.ts'

/** Maximum number of changed members of a JSON object that are shown. */
const MAX_MEMBERS = 20
/** Maximum length, in characters, of a shown value. */
const LONGEST = 1_000

/** Values of a property before and after a change. If both values are JSON objects, only the members that differ are shown. */
export function Diff({ entry }: { entry: EntryOf<'property'> }) {
  const { now, before, name } = entry
  const members = changedMembers(entry, MAX_MEMBERS)
  const pick = (side: 'from' | 'to') =>
    Object.fromEntries(
      (members ?? []).flatMap(one => (one[side] === undefined ? [] : [[one.key, one[side]]])),
    )
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset groups form fields
    <div className={styles.diff} role="group" aria-label={`What changed in ${name}`}>
      {before && (
        <div className={styles.side} data-tone="bad">
          <span>−</span>
          {before.isRemoved ? (
            <span>no value</span>
          ) : (
            <ShortValue value={members ? pick('from') : before.value} isCut={before.isCut} chars={LONGEST} />
          )}
        </div>
      )}
      <div className={styles.side} data-tone="ok">
        <span>+</span>
        {now.isRemoved ? (
          <span>no value</span>
        ) : (
          <ShortValue value={members ? pick('to') : now.value} isCut={now.isCut} chars={LONGEST} />
        )}
      </div>
    </div>
  )
}
