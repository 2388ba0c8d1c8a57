declare const styles: {
  readonly filters: string
  readonly picks: string
}
export default styles
