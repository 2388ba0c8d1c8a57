import { useActionState } from '../../api/queries.ts'
import { formatCount } from '../../lib/app/format.ts'
import { useDebounced } from '../../lib/app/use-debounced.ts'
import { ComboField } from '../../ui/lazy/ComboField.tsx'

/** Maximum number of projects that the selector offers at once. */
const OFFERED = 20

type ProjectFieldProps = {
  organizationId: string
  /** Text in the box: the name of the chosen project, or the search text. */
  text: string
  error: string | undefined
  /** Called with the new text, and the id of the project if one was chosen, else an empty text. */
  onChange: (text: string, projectId: string) => void
}

/** Field of a form for one project of the organization. Blank means all projects. */
export function ProjectField({ organizationId, text, error, onChange }: ProjectFieldProps) {
  const filter = useDebounced(text.trim())
  const offered = useActionState(
    'organizations_QueryProjects',
    { organizationId, limit: OFFERED, ...(filter && { filter: { text: filter } }) },
    { keepPrevious: true },
  )
  const { projects, total = 0 } = offered.data ?? {}
  return (
    <ComboField
      label="Project"
      placeholder="All projects"
      error={error}
      text={text}
      onType={typed => onChange(typed, '')}
      options={projects?.map(({ projectId, name }) => ({ value: projectId, label: name, detail: projectId }))}
      note={
        !projects
          ? offered.error
            ? `Could not load projects: ${offered.error.message}`
            : 'Loading…'
          : projects.length === 0
            ? 'No project matches.'
            : total > projects.length
              ? `${formatCount(total - projects.length)} more: type part of a name.`
              : undefined
      }
      onChoose={({ value, label }) => onChange(label, value)}
    />
  )
}
