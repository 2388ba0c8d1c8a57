import type { Where } from './read-where.ts'
import { sentence, unknownText, useUnknownNames } from './use-unknown-names.ts'

/** Says which properties and labels of the conditions no device has. */
export function Unknown({ projectId, where }: { projectId: string; where: Where }) {
  const unknown = useUnknownNames(projectId, where)
  return unknown?.map(name => (
    <p key={name.name} className="secondary">
      {sentence(unknownText(name))}
    </p>
  ))
}
