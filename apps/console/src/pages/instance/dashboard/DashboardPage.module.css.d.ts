declare const styles: {
  readonly link: string
  readonly three: string
  readonly two: string
}
export default styles
