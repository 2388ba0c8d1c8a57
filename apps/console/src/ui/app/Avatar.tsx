import styles from './Avatar.module.css'

type AvatarProps = {
  /** Name whose initials are shown; `undefined` while it loads. */
  name: string | undefined
  /** A circle in the accent colour, for the signed-in person. */
  isSelf?: boolean
}

/** The initials of a name, hidden from screen readers because the name stands beside them. */
export function Avatar({ name, isSelf = false }: AvatarProps) {
  return (
    <span className={isSelf ? `${styles.avatar} ${styles.self}` : styles.avatar} aria-hidden="true">
      {name !== undefined && initialsOf(name)}
    </span>
  )
}

/** The initials of a name, one or two letters. */
function initialsOf(name: string): string {
  const words = name.split(/[\s@._-]+/).filter(Boolean)
  const letters = words.length > 1 ? [words[0], words.at(-1)] : [words[0]]
  return letters
    .map(word => [...(word ?? '')][0] ?? '')
    .join('')
    .toUpperCase()
}
