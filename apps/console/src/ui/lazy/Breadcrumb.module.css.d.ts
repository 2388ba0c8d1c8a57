declare const styles: {
  readonly breadcrumb: string
}
export default styles
