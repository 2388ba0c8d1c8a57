import { Fragment } from 'react'

/** A name such as `users_SetIsAdmin` in the monospace font. Lines may break after an underscore and before a capital letter. */
export function MachineName({ name }: { name: string }) {
  return (
    <code className="mono mname">
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
