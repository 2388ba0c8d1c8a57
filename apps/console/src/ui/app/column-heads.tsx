import { ArrowDown, ArrowUp } from 'lucide-react'
import type { ReactNode } from 'react'
import { useShownFirst } from '../../lib/app/use-shown-first.ts'

type SortButtonProps = {
  /** The column's name, which is also the accessible name of the sort button. */
  children: ReactNode
  field: string
  /** Current sort order: the name of a field, with a leading `-` if it is descending. */
  sort: string | undefined
  onSort: (sort: string) => void
  className?: string
  /** Content after the sort button, for example the handle with which the user changes the column's width. */
  after?: ReactNode
  /** Accessible name of the column head. Without it, the name would include the accessible name of `after`. */
  label?: string
}

/** A column head with a sort button; `aria-sort` holds the state. */
export function SortHead({ children, field, sort, onSort, className, after, label }: SortButtonProps) {
  const [shown, choose] = useShownFirst(sort, next => next && onSort(next))
  const isAscending = shown === field
  const isDescending = shown === `-${field}`
  const Icon = isDescending ? ArrowDown : ArrowUp
  return (
    <th
      scope="col"
      className={className}
      aria-label={label}
      {...(isAscending && { 'aria-sort': 'ascending' })}
      {...(isDescending && { 'aria-sort': 'descending' })}
    >
      <button
        type="button"
        aria-description={isAscending ? 'Sort descending' : 'Sort ascending'}
        onClick={() => choose(isAscending ? `-${field}` : field)}
      >
        {children}
        {(isAscending || isDescending) && <Icon className="icon small-icon" aria-hidden />}
      </button>
      {after}
    </th>
  )
}

/** The head of a column of buttons. */
export function ActionsHead() {
  return (
    <th scope="col">
      <span className="visually-hidden">Actions</span>
    </th>
  )
}
