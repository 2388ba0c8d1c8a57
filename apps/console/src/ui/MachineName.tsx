import { Fragment } from 'react'

/** A name such as `users_SetIsAdmin` in mono; where space is short it breaks after an underscore. */
export function MachineName({ name }: { name: string }) {
  return (
    <code className="mono mname">
      {name.split(/(?<=_)/).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are their places
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </code>
  )
}
