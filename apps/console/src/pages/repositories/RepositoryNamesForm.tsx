import { type ActionOutput, MAX_NAME_LENGTH } from '@muster/actions/client'
import { useState } from 'react'
import { useActionState, useCommand } from '../../api/queries.ts'
import formStyles from '../../form/form.module.css'
import { bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { counted } from '../../lib/app/format.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { toast } from '../../ui/app/toast.ts'
import { SaveBar } from '../../ui/lazy/SaveBar.tsx'
import { TextField } from '../../ui/TextField.tsx'

type RepositoryNamesFormProps = {
  repository: Pick<ActionOutput<'repositories_GetDetails'>, 'repositoryId' | 'displayName' | 'slug'>
}

/** Form for display name and slug of a repository. Both change together or not at all. */
export function RepositoryNamesForm({ repository }: RepositoryNamesFormProps) {
  const { repositoryId, displayName, slug } = repository
  const followers = useActionState('repositories_GetFollowers', { repositoryId }).data
  const rename = useCommand('repositories_SetNames', {
    invalidates: [
      'repositories_GetDetails',
      'repositories_GetFollowers',
      'organizations_QueryRepositories',
      'projects_QueryLinkedRepositories',
    ],
  })
  const [error, setError] = useState<unknown>()
  const [taken, setTaken] = useState<{ slug: string; free: readonly string[] }>()
  const form = useTextForm({
    defaultValues: { displayName, slug: slug ?? '' },
    validate: values => ({
      displayName: values.displayName.trim() ? undefined : 'Name must not be empty.',
      slug: slug !== undefined && !values.slug.trim() ? 'Slug must not be empty.' : undefined,
    }),
    submit: async values => {
      const wanted = { displayName: values.displayName.trim(), slug: values.slug.trim() }
      setTaken(undefined)
      const saved = await rename.mutateAsync({
        repositoryId,
        displayName: wanted.displayName,
        ...(wanted.slug && { slug: wanted.slug }),
      })
      if (saved.result === 'SlugAlreadyExists') {
        setTaken({ slug: wanted.slug, free: saved.free })
        return
      }
      form.reset(wanted)
      toast(`Repository renamed to ${wanted.displayName}.`)
    },
    onFailure: setError,
  })
  return (
    <Section title="Repository" padded={false}>
      <form noValidate onSubmit={event => void submitForm(event, form)}>
        <div className={formStyles.fields}>
          <ErrorAlert title="The repository was not renamed." error={error} />
          <div className={formStyles.pair}>
            <form.Field name="displayName">
              {field => <TextField label="Name" required maxLength={MAX_NAME_LENGTH} {...bindText(field)} />}
            </form.Field>
            <form.Field name="slug">
              {field => {
                const { error: problem, ...bound } = bindText(field)
                return (
                  <TextField
                    label="Slug"
                    required={slug !== undefined}
                    mono
                    spellCheck={false}
                    autoCapitalize="off"
                    {...bound}
                    error={
                      problem ??
                      (taken && taken.slug === field.state.value.trim() ? takenText(taken.free) : undefined)
                    }
                  />
                )
              }}
            </form.Field>
          </div>
          <p className="help">
            Devices and the command line address files by the slug, for example{' '}
            <span className="mono">{slug ?? repositoryId}/firmware/stable</span>.{' '}
            {followersText(followers, slug)}
          </p>
        </div>
        <SaveBar note={slug === undefined ? undefined : 'The old slug keeps leading to this repository.'}>
          <SubmitButton form={form} busyLabel="Saving…">
            Save
          </SubmitButton>
        </SaveBar>
      </form>
    </Section>
  )
}

function takenText(free: readonly string[]): string {
  return `This slug is taken.${free.length > 0 ? ` Free: ${free.join(', ')}.` : ''} Nothing was changed.`
}

function followersText(
  followers: ActionOutput<'repositories_GetFollowers'> | undefined,
  slug: string | undefined,
): string {
  if (!followers) return 'Counting the devices that follow it…'
  const what = slug === undefined ? 'its current name' : `the current slug ${slug}`
  if (followers.tookTooLong)
    return `The devices that follow a path with ${what} could not be counted within 2 s.`
  const { deviceCount, projectCount, otherDeviceCount: others } = followers
  const own = deviceCount > 0 && `${counted(deviceCount, 'device')} of ${counted(projectCount, 'project')}`
  const elsewhere =
    others !== undefined && others > 0 && `${counted(others, 'device')} of other organizations`
  const who = [own, elsewhere].filter(Boolean).join(' and ')
  const uncounted =
    others === undefined ? ' Devices of other organizations could not be counted within 2 s.' : ''
  if (!who) return `No device follows a path with ${what}.${uncounted}`
  return `${who} ${deviceCount + (others ?? 0) === 1 ? 'follows' : 'follow'} a path with ${what}.${uncounted}`
}
