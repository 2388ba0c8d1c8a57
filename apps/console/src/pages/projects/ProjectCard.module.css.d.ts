declare const styles: {
  readonly counts: string
  readonly total: string
}
export default styles
