import { Fragment } from 'react'
import styles from './MachineName.module.css'

/** A name such as `users_SetIsAdmin` in the monospace font. Lines may break after an underscore and before a capital letter. */
export function MachineName({ name }: { name: string }) {
  return (
    <code className={`mono ${styles.name}`}>
      {name.split(/(?<=_)|(?<=[a-z])(?=[A-Z])/).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their position
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </code>
  )
}
