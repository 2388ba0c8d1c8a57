import { Link } from '@tanstack/react-router'
import { Breadcrumb } from '../../ui/lazy/Breadcrumb.tsx'

/** Breadcrumb from a page of the administration to the dashboard. */
export function AdminCrumb({ here }: { here: string }) {
  return (
    <Breadcrumb
      links={[
        <Link key="dashboard" to="/admin">
          Dashboard
        </Link>,
      ]}
      here={here}
    />
  )
}
