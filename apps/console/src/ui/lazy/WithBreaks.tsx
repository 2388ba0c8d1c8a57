import { Fragment } from 'react'

/** A text whose lines may also break where `at` matches, for example after the commas of a JSON text without spaces. */
export function WithBreaks({ text, at }: { text: string; at: RegExp }) {
  return text.split(at).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their position
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ))
}
