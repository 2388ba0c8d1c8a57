import { useCommand } from '../../api/queries.ts'
import { Section } from '../../ui/app/Section.tsx'
import { Switch } from '../../ui/app/Switch.tsx'
import { toastError } from '../../ui/app/toast.ts'
import pinned from './PinnedPropertiesSection.module.css'

type CertificateRenewalSectionProps = { projectId: string; isAllowed: boolean }

/** Whether connected devices of a project may announce their next certificate. A change is saved immediately. */
export function CertificateRenewalSection({ projectId, isAllowed }: CertificateRenewalSectionProps) {
  const set = useCommand('projects_SetCertificateRenewal', { invalidates: ['projects_GetDetails'] })
  return (
    <Section
      title="Renewed certificates"
      padded={false}
      aside={
        <Switch
          label="Devices announce their next certificate"
          checked={set.isPending ? set.variables.isAllowed : isAllowed}
          busy={set.isPending}
          onChange={checked =>
            set.mutate(
              { projectId, isAllowed: checked },
              { onError: error => toastError('Could not change the setting', error) },
            )
          }
        />
      }
    >
      <p className={pinned.note}>
        A connected device may announce its next certificate, signed with its present key and with the new
        one. Otherwise every new certificate waits until a person accepts it.
      </p>
    </Section>
  )
}
