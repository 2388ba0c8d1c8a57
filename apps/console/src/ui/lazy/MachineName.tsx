import styles from './MachineName.module.css'
import { WithBreaks } from './WithBreaks.tsx'

/** A name such as `users_SetIsAdmin` in the monospace font. Lines may break after an underscore and before a capital letter. */
export function MachineName({ name }: { name: string }) {
  return (
    <code className={`mono ${styles.name}`}>
      <WithBreaks text={name} at={/(?<=_)|(?<=[a-z])(?=[A-Z])/} />
    </code>
  )
}
