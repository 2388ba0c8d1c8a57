import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useActionState, useCommand } from '../../api/queries.ts'
import { bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { formatCount } from '../../lib/app/format.ts'
import { useDebounced } from '../../lib/app/use-debounced.ts'
import { organizationIdOf } from '../../organization.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { toast } from '../../ui/app/toast.ts'
import { ComboField } from '../../ui/lazy/ComboField.tsx'
import styles from './LinkRepositoryForm.module.css'

/** Maximum number of repositories that the selector offers at once. */
const OFFERED = 20

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/repositories')

type LinkRepositoryFormProps = { projectId: string; linkedIds: readonly string[] }

/** Form that links a repository of the organization to the project. */
export function LinkRepositoryForm({ projectId, linkedIds }: LinkRepositoryFormProps) {
  const organizationId = organizationIdOf(route.useParams())
  const [text, setText] = useState('')
  const offered = useOffered(organizationId, text)
  const link = useCommand('projects_LinkRepository', { invalidates: ['projects_QueryLinkedRepositories'] })
  const form = useTextForm({
    defaultValues: { repositoryId: '' },
    validate: ({ repositoryId }) => ({ repositoryId: repositoryId ? undefined : 'Choose a repository.' }),
    submit: async ({ repositoryId }) => {
      try {
        await link.mutateAsync({ projectId, repositoryId })
      } catch {
        return // The form shows the error.
      }
      form.reset()
      setText('')
      toast(`Repository ${text} linked.`)
    },
  })
  return (
    <form className={`sheet ${styles.form}`} noValidate onSubmit={event => void submitForm(event, form)}>
      <ErrorAlert title="The repository was not linked." error={link.error} />
      <form.Field name="repositoryId">
        {field => (
          <ComboField
            label="Repository"
            required
            placeholder="Choose or type to find one"
            error={bindText(field).error}
            text={text}
            onType={typed => {
              setText(typed)
              field.handleChange('')
            }}
            options={offered.repositories?.map(({ repositoryId, name }) => ({
              value: repositoryId,
              label: name,
              detail: repositoryId,
              reason: linkedIds.includes(repositoryId) ? 'already linked' : undefined,
            }))}
            note={offered.note}
            onChoose={({ value, label }) => {
              setText(label)
              field.handleChange(value)
            }}
          />
        )}
      </form.Field>
      <SubmitButton form={form} busyLabel="Linking…">
        Link Repository
      </SubmitButton>
    </form>
  )
}

/** The organization's repositories that have `text` in their name or id, and a note about the search. */
function useOffered(organizationId: string, text: string) {
  const filter = useDebounced(text.trim())
  const { data, error } = useActionState(
    'organizations_QueryRepositories',
    { organizationId, limit: OFFERED, ...(filter && { filter: { text: filter } }) },
    { keepPrevious: true },
  )
  const { repositories, total = 0 } = data ?? {}
  return { repositories, note: noteOf() }

  function noteOf(): string | undefined {
    if (!repositories) return error ? `Could not load repositories: ${error.message}` : 'Loading…'
    if (repositories.length === 0)
      return filter ? 'No repository matches.' : 'This organization has no repositories.'
    if (total > repositories.length)
      return `${formatCount(total - repositories.length)} more: type part of a name.`
    return undefined
  }
}
