declare const styles: {
  readonly lead: string
  readonly packages: string
}
export default styles
