package podspec

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// checkVolumes checks the volumes, and remembers the valid ones, which containers may mount.
func (c *checker) checkVolumes(path *field.Path) (errs field.ErrorList) {
	c.volumes = map[string]*corev1.VolumeSource{}
	for n := range c.spec.Volumes {
		volume, item := &c.spec.Volumes[n], path.Index(n)
		found := slices.Concat(
			checkVolumeSource(&volume.VolumeSource, item),
			rules.RequiredLabel(volume.Name, item.Child("name")),
			rules.When(c.volumes[volume.Name] != nil, field.Duplicate(item.Child("name"), volume.Name)),
		)
		if len(found) == 0 {
			c.volumes[volume.Name] = &volume.VolumeSource
		}
		errs = append(errs, found...)
		if claim := volume.PersistentVolumeClaim; claim != nil && c.createsClaim(claim.ClaimName) {
			errs = append(errs, field.Invalid(item.Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
				"must not reference a PVC that gets created for an ephemeral volume"))
		}
	}
	return errs
}

// createsClaim reports whether a claim is created for an ephemeral volume of the pod.
func (c *checker) createsClaim(name string) bool {
	return c.pod != nil && slices.ContainsFunc(c.spec.Volumes, func(volume corev1.Volume) bool {
		return volume.Ephemeral != nil && name == c.pod.Name+"-"+volume.Name
	})
}

// volumeTypes are the fields of a volume in the order in which kube-apiserver visits them.
var volumeTypes = []string{
	"EmptyDir", "HostPath", "GitRepo", "GCEPersistentDisk", "AWSElasticBlockStore", "Secret", "NFS", "ISCSI",
	"Glusterfs", "Flocker", "PersistentVolumeClaim", "RBD", "Cinder", "CephFS", "Quobyte", "DownwardAPI", "FC",
	"FlexVolume", "ConfigMap", "AzureFile", "VsphereVolume", "PhotonPersistentDisk", "PortworxVolume",
	"AzureDisk", "StorageOS", "Projected", "ScaleIO", "CSI", "Ephemeral", "Image",
}

// checkVolumeSource checks that a volume has one type, and the first that it has.
func checkVolumeSource(source *corev1.VolumeSource, path *field.Path) (errs field.ErrorList) {
	fields, found := reflect.ValueOf(source).Elem(), false
	for _, name := range volumeTypes {
		switch {
		case fields.FieldByName(name).IsNil():
		case found:
			second := path.Child(cmp.Or(misspelled[name], jsonName(name)))
			errs = append(errs, field.Forbidden(second, "may not specify more than 1 volume type"))
		default:
			found = true
			errs = checkVolumeType(source, name, path.Child(jsonName(name)))
		}
	}
	return append(errs, rules.Missing(!found, path, "must specify a volume type")...)
}

// misspelled are the names of types that kube-apiserver spells differently in the errors of a second type.
var misspelled = map[string]string{"CephFS": "cephFS", "DownwardAPI": "downwarAPI"}

func jsonName(name string) string {
	found, _ := reflect.TypeFor[corev1.VolumeSource]().FieldByName(name)
	json, _, _ := strings.Cut(found.Tag.Get("json"), ",")
	return json
}

// checkVolumeType checks the types of volumes that users meet.
func checkVolumeType(source *corev1.VolumeSource, name string, path *field.Path) field.ErrorList {
	switch name {
	case "EmptyDir":
		limit := source.EmptyDir.SizeLimit
		return rules.Forbidden(limit != nil && limit.Sign() < 0, path.Child("sizeLimit"),
			"SizeLimit field must be a valid resource quantity")
	case "HostPath":
		return CheckHostPath(source.HostPath, path)
	case "Secret":
		s := source.Secret
		return checkKeys(s.SecretName, s.DefaultMode, s.Items, path.Child("secretName"), path)
	case "ConfigMap":
		m := source.ConfigMap
		return checkKeys(m.Name, m.DefaultMode, m.Items, path.Child("name"), path)
	case "NFS":
		return CheckNFS(source.NFS, path)
	case "PersistentVolumeClaim":
		return rules.Required(source.PersistentVolumeClaim.ClaimName, path.Child("claimName"))
	case "DownwardAPI":
		errs := checkFileMode(source.DownwardAPI.DefaultMode, path.Child("defaultMode"))
		return append(errs, checkDownward(source.DownwardAPI.Items, path)...)
	case "Projected":
		return checkProjected(source.Projected, path)
	case "CSI":
		return CheckDriverName(source.CSI.Driver, path.Child("driver"))
	case "Ephemeral":
		path = path.Child("volumeClaimTemplate")
		if source.Ephemeral.VolumeClaimTemplate == nil {
			return field.ErrorList{field.Required(path, "")}
		}
		return CheckClaimSpec(&source.Ephemeral.VolumeClaimTemplate.Spec, path.Child("spec"))
	case "Image":
		return append(rules.Required(source.Image.Reference, path.Child("reference")),
			checkPullPolicy(source.Image.PullPolicy, path.Child("pullPolicy"))...)
	}
	return nil
}

// CheckNFS checks a volume on a file server.
func CheckNFS(source *corev1.NFSVolumeSource, path *field.Path) field.ErrorList {
	return slices.Concat(
		rules.Required(source.Server, path.Child("server")),
		rules.Required(source.Path, path.Child("path")),
		rules.Invalid(!strings.HasPrefix(source.Path, "/"), path.Child("path"), source.Path, "must be an absolute path"),
	)
}

// CheckHostPath checks a volume in a folder of a node.
func CheckHostPath(source *corev1.HostPathVolumeSource, path *field.Path) field.ErrorList {
	if source.Path == "" {
		return field.ErrorList{field.Required(path.Child("path"), "")}
	}
	return append(CheckNoBacksteps(source.Path, path.Child("path")),
		rules.Known(ptr.Deref(source.Type, corev1.HostPathUnset), path.Child("type"), corev1.HostPathUnset,
			corev1.HostPathBlockDev, corev1.HostPathCharDev, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate,
			corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
}

// checkKeys checks the files of a Secret or ConfigMap. named is the path of its name.
func checkKeys(name string, mode *int32, items []corev1.KeyToPath, named, path *field.Path) field.ErrorList {
	return slices.Concat(
		rules.Required(name, named),
		checkFileMode(mode, path.Child("defaultMode")),
		rules.Each(items, path.Child("items"), func(item *corev1.KeyToPath, path *field.Path) field.ErrorList {
			return slices.Concat(
				rules.Required(item.Key, path.Child("key")),
				rules.Required(item.Path, path.Child("path")),
				checkFilePath(item.Path, path.Child("path")),
				checkFileMode(item.Mode, path.Child("mode")),
			)
		}),
	)
}

// The fields of a pod that a file may have.
var fileFields = []string{
	"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
}

func checkDownward(files []corev1.DownwardAPIVolumeFile, path *field.Path) field.ErrorList {
	return rules.Every(files, path, func(file corev1.DownwardAPIVolumeFile, _ *field.Path) field.ErrorList {
		isField, isResource := file.FieldRef != nil, file.ResourceFieldRef != nil
		errs := slices.Concat(
			rules.Required(file.Path, path.Child("path")),
			checkFilePath(file.Path, path.Child("path")),
			checkFieldRef(file.FieldRef, fileFields, path.Child("fieldRef")),
			rules.Invalid(isField && isResource, path, "resource",
				"fieldRef and resourceFieldRef can not be specified simultaneously"))
		if !isField {
			errs = append(errs, checkResourceRef(file.ResourceFieldRef, true, path.Child("resourceFieldRef"))...)
		}
		return slices.Concat(errs,
			rules.Missing(!isField && !isResource, path, "one of fieldRef and resourceFieldRef is required"),
			checkFileMode(file.Mode, path.Child("mode")))
	})
}

func checkProjected(projected *corev1.ProjectedVolumeSource, path *field.Path) field.ErrorList {
	seen := paths{}
	return append(checkFileMode(projected.DefaultMode, path.Child("defaultMode")),
		rules.Each(projected.Sources, path.Child("sources"),
			func(source *corev1.VolumeProjection, item *field.Path) field.ErrorList {
				return seen.checkSource(source, item, path)
			})...)
}

// paths are the files of a projected volume.
type paths map[string]bool

// checkSource checks one source. Errors of files of the same path name the volume.
func (p paths) checkSource(source *corev1.VolumeProjection, path, volume *field.Path) (errs field.ErrorList) {
	if s := source.Secret; s != nil {
		errs = append(checkKeys(s.Name, nil, s.Items, path.Child("secret", "name"), path.Child("secret")),
			p.check(s.Name, s.Items, volume)...)
	}
	if m := source.ConfigMap; m != nil {
		errs = slices.Concat(errs, checkKeys(m.Name, nil, m.Items, path.Child("configMap", "name"), path.Child("configMap")),
			p.check(m.Name, m.Items, volume))
	}
	if downward := source.DownwardAPI; downward != nil {
		errs = append(errs, checkDownward(downward.Items, path.Child("downwardAPI"))...)
		for _, file := range downward.Items {
			errs = append(errs, p.check(file.Path, []corev1.KeyToPath{{Path: file.Path}}, volume)...)
		}
	}
	if token := source.ServiceAccountToken; token != nil {
		errs = append(errs, checkToken(token, path.Child("serviceAccountToken"), volume)...)
	}
	return append(errs, rules.Forbidden(rules.CountSet(source) > 1, path,
		"may not specify more than 1 volume type per source")...)
}

// check checks that no two files have the same path.
func (p paths) check(value string, items []corev1.KeyToPath, path *field.Path) (errs field.ErrorList) {
	for _, item := range items {
		errs = append(errs, rules.Invalid(p[item.Path], path, value, "conflicting duplicate paths")...)
		p[item.Path] = item.Path != ""
	}
	return errs
}

// checkToken checks a token. The errors of its path name the volume instead of the item.
func checkToken(token *corev1.ServiceAccountTokenProjection, item, volume *field.Path) field.ErrorList {
	path, seconds := item.Child("expirationSeconds"), ptr.Deref(token.ExpirationSeconds, 60*60)
	return slices.Concat(
		rules.Invalid(seconds < 10*60, path, seconds, "may not specify a duration less than 10 minutes"),
		rules.Invalid(seconds > 1<<32, path, seconds, "may not specify a duration larger than 2^32 seconds"),
		rules.Required(token.Path, volume.Child("path")),
		checkFilePath(token.Path, volume.Child("path")),
	)
}

// checkNoTokens checks that no volume of a pod without a service account has a token.
func (c *checker) checkNoTokens(path *field.Path) (errs field.ErrorList) {
	for n := range c.spec.Volumes {
		projected := c.spec.Volumes[n].Projected
		if projected == nil || c.spec.ServiceAccountName != "" {
			continue
		}
		for m := range projected.Sources {
			errs = append(errs, rules.Forbidden(projected.Sources[m].ServiceAccountToken != nil,
				path.Index(n).Child("projected", "sources").Index(m).Child("serviceAccountToken"),
				"must not be specified when serviceAccountName is not set")...)
		}
	}
	return errs
}

// maxDriverName is how long the name of a CSI driver may be.
const maxDriverName = 63

// CheckDriverName checks the name of a CSI driver, whose letters may be capital.
func CheckDriverName(name string, path *field.Path) field.ErrorList {
	return append(rules.When(len(name) > maxDriverName, field.TooLong(path, "", maxDriverName)),
		rules.RequiredName(name, path, func(name string, _ bool) []string {
			return validation.IsDNS1123Subdomain(strings.ToLower(name))
		})...)
}

// CheckClaimSpec checks a claim for a volume.
func CheckClaimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	modes, storage := path.Child("accessModes"), path.Child("resources").Key(string(corev1.ResourceStorage))
	size, isSized := spec.Resources.Requests[corev1.ResourceStorage]
	return slices.Concat(
		rules.Missing(len(spec.AccessModes) == 0, modes, "at least 1 access mode is required"),
		CheckAccessModes(spec.AccessModes, modes),
		rules.Missing(!isSized, storage, ""),
		rules.Invalid(isSized && size.Sign() <= 0, storage, size.String(), "must be greater than zero"),
		rules.Name(ptr.Deref(spec.StorageClassName, ""), path.Child("storageClassName"), apivalidation.NameIsDNSSubdomain),
		rules.OneOf(ptr.Deref(spec.VolumeMode, corev1.PersistentVolumeBlock), path.Child("volumeMode"),
			corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem),
	)
}

// CheckAccessModes checks the access modes of a volume or a claim.
func CheckAccessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) (errs field.ErrorList) {
	exclusive, shared := false, false
	for _, mode := range modes {
		wrong := rules.Known(mode, path, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce,
			corev1.ReadWriteOncePod)
		errs = append(errs, wrong...)
		exclusive = exclusive || mode == corev1.ReadWriteOncePod
		shared = shared || mode != corev1.ReadWriteOncePod && len(wrong) == 0
	}
	return append(errs, rules.Forbidden(exclusive && shared, path,
		"may not use ReadWriteOncePod with other access modes")...)
}
