package podspec

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkVolumes checks the volumes, and remembers the valid ones, which containers may mount.
func (c *checker) checkVolumes(path *field.Path) (errs field.ErrorList) {
	c.volumes = map[string]*corev1.VolumeSource{}
	for n := range c.spec.Volumes {
		volume, item := &c.spec.Volumes[n], path.Index(n)
		found := checkVolumeSource(&volume.VolumeSource, item)
		if volume.Name == "" {
			found = append(found, field.Required(item.Child("name"), ""))
		} else {
			found = append(found, checkLabel(volume.Name, item.Child("name"))...)
		}
		if c.volumes[volume.Name] != nil {
			found = append(found, field.Duplicate(item.Child("name"), volume.Name))
		}
		if len(found) == 0 {
			c.volumes[volume.Name] = &volume.VolumeSource
		}
		errs = append(errs, found...)
	}
	return errs
}

// checkVolumeSource checks that a volume has one type, and the types that users meet.
func checkVolumeSource(source *corev1.VolumeSource, path *field.Path) (errs field.ErrorList) {
	kinds := reflect.ValueOf(*source)
	found := source.EmptyDir != nil
	for n := range kinds.NumField() {
		if kinds.Field(n).IsNil() || kinds.Type().Field(n).Name == "EmptyDir" {
			continue
		}
		name, _, _ := strings.Cut(kinds.Type().Field(n).Tag.Get("json"), ",")
		if found {
			errs = append(errs, field.Forbidden(path.Child(name), "may not specify more than 1 volume type"))
		}
		found = true
	}
	switch {
	case !found:
		return field.ErrorList{field.Required(path, "must specify a volume type")}
	case len(errs) > 0:
		return errs
	}
	switch {
	case source.Secret != nil:
		return checkSecretVolume(source.Secret, path.Child("secret"))
	case source.ConfigMap != nil:
		return checkConfigMapVolume(source.ConfigMap, path.Child("configMap"))
	case source.DownwardAPI != nil:
		errs = checkFileMode(source.DownwardAPI.DefaultMode, path.Child("downwardAPI", "defaultMode"))
		return append(errs, checkDownward(source.DownwardAPI.Items, path.Child("downwardAPI"))...)
	case source.Projected != nil:
		return checkProjected(source.Projected, path.Child("projected"))
	}
	return checkStorageSource(source, path)
}

// checkStorageSource checks the volumes that have storage.
func checkStorageSource(source *corev1.VolumeSource, path *field.Path) (errs field.ErrorList) {
	switch {
	case source.EmptyDir != nil:
		if limit := source.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			errs = append(errs, field.Forbidden(path.Child("emptyDir", "sizeLimit"),
				"SizeLimit field must be a valid resource quantity"))
		}
	case source.HostPath != nil:
		return checkHostPath(source.HostPath, path.Child("hostPath"))
	case source.PersistentVolumeClaim != nil:
		if source.PersistentVolumeClaim.ClaimName == "" {
			errs = append(errs, field.Required(path.Child("persistentVolumeClaim", "claimName"), ""))
		}
	case source.NFS != nil:
		return checkNFS(source.NFS, path.Child("nfs"))
	case source.CSI != nil:
		errs = checkObjectRef(source.CSI.Driver, path.Child("csi", "driver"))
		if secret := source.CSI.NodePublishSecretRef; secret != nil {
			errs = append(errs, checkObjectRef(secret.Name, path.Child("csi", "nodePublishSecretRef", "name"))...)
		}
	case source.Ephemeral != nil:
		claim := path.Child("ephemeral", "volumeClaimTemplate")
		if source.Ephemeral.VolumeClaimTemplate == nil {
			return field.ErrorList{field.Required(claim, "")}
		}
		return CheckClaimSpec(&source.Ephemeral.VolumeClaimTemplate.Spec, claim.Child("spec"))
	case source.Image != nil:
		image := path.Child("image")
		if source.Image.Reference == "" {
			errs = append(errs, field.Required(image.Child("reference"), ""))
		}
		errs = append(errs, checkOneOf(source.Image.PullPolicy, image.Child("pullPolicy"),
			corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	}
	return errs
}

func checkHostPath(source *corev1.HostPathVolumeSource, path *field.Path) field.ErrorList {
	if source.Path == "" {
		return field.ErrorList{field.Required(path.Child("path"), "")}
	}
	errs := checkNoBacksteps(source.Path, path.Child("path"))
	if source.Type == nil || *source.Type == corev1.HostPathUnset {
		return errs
	}
	return append(errs, checkOneOf(*source.Type, path.Child("type"), corev1.HostPathUnset, corev1.HostPathBlockDev,
		corev1.HostPathCharDev, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile,
		corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
}

func checkNFS(source *corev1.NFSVolumeSource, path *field.Path) (errs field.ErrorList) {
	if source.Server == "" {
		errs = append(errs, field.Required(path.Child("server"), ""))
	}
	if source.Path == "" {
		errs = append(errs, field.Required(path.Child("path"), ""))
	}
	if !strings.HasPrefix(source.Path, "/") {
		errs = append(errs, field.Invalid(path.Child("path"), source.Path, "must be an absolute path"))
	}
	return errs
}

func checkSecretVolume(source *corev1.SecretVolumeSource, path *field.Path) (errs field.ErrorList) {
	if source.SecretName == "" {
		errs = append(errs, field.Required(path.Child("secretName"), ""))
	}
	errs = append(errs, checkFileMode(source.DefaultMode, path.Child("defaultMode"))...)
	return append(errs, checkItems(source.Items, path.Child("items"))...)
}

func checkConfigMapVolume(source *corev1.ConfigMapVolumeSource, path *field.Path) (errs field.ErrorList) {
	if source.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	errs = append(errs, checkFileMode(source.DefaultMode, path.Child("defaultMode"))...)
	return append(errs, checkItems(source.Items, path.Child("items"))...)
}

// checkItems checks the files that are made of keys.
func checkItems(items []corev1.KeyToPath, path *field.Path) (errs field.ErrorList) {
	for n, item := range items {
		if item.Key == "" {
			errs = append(errs, field.Required(path.Index(n).Child("key"), ""))
		}
		if item.Path == "" {
			errs = append(errs, field.Required(path.Index(n).Child("path"), ""))
		}
		errs = append(errs, checkFilePath(item.Path, path.Index(n).Child("path"))...)
		errs = append(errs, checkFileMode(item.Mode, path.Index(n).Child("mode"))...)
	}
	return errs
}

// The fields of a pod that a file may have.
var fileFields = []string{
	"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
}

func checkDownward(files []corev1.DownwardAPIVolumeFile, path *field.Path) (errs field.ErrorList) {
	for n := range files {
		file := &files[n]
		if file.Path == "" {
			errs = append(errs, field.Required(path.Child("path"), ""))
		}
		errs = append(errs, checkFilePath(file.Path, path.Child("path"))...)
		switch {
		case file.FieldRef != nil:
			errs = append(errs, checkFieldRef(file.FieldRef, fileFields, path.Child("fieldRef"))...)
			if file.ResourceFieldRef != nil {
				errs = append(errs, field.Invalid(path, "resource",
					"fieldRef and resourceFieldRef can not be specified simultaneously"))
			}
		case file.ResourceFieldRef != nil:
			errs = append(errs, checkResourceRef(file.ResourceFieldRef, true, path.Child("resourceFieldRef"))...)
		default:
			errs = append(errs, field.Required(path, "one of fieldRef and resourceFieldRef is required"))
		}
		errs = append(errs, checkFileMode(file.Mode, path.Child("mode"))...)
	}
	return errs
}

func checkProjected(projected *corev1.ProjectedVolumeSource, path *field.Path) field.ErrorList {
	errs := checkFileMode(projected.DefaultMode, path.Child("defaultMode"))
	paths := sets.New[string]()
	for n := range projected.Sources {
		source, item := &projected.Sources[n], path.Child("sources").Index(n)
		if secret := source.Secret; secret != nil {
			errs = append(errs, checkProjectedKeys(secret.Name, secret.Items, item.Child("secret"))...)
			errs = append(errs, checkPaths(secret.Name, pathsOf(secret.Items), paths, path)...)
		}
		if configMap := source.ConfigMap; configMap != nil {
			errs = append(errs, checkProjectedKeys(configMap.Name, configMap.Items, item.Child("configMap"))...)
			errs = append(errs, checkPaths(configMap.Name, pathsOf(configMap.Items), paths, path)...)
		}
		if downward := source.DownwardAPI; downward != nil {
			errs = append(errs, checkDownward(downward.Items, item.Child("downwardAPI"))...)
			for _, file := range downward.Items {
				errs = append(errs, checkPaths(file.Path, []string{file.Path}, paths, path)...)
			}
		}
		if token := source.ServiceAccountToken; token != nil {
			errs = append(errs, checkToken(token, item.Child("serviceAccountToken"), path)...)
		}
		if countSet(source) > 1 {
			errs = append(errs, field.Forbidden(item, "may not specify more than 1 volume type per source"))
		}
	}
	return errs
}

// countSet returns how many types a source has.
func countSet(source *corev1.VolumeProjection) (count int) {
	kinds := reflect.ValueOf(*source)
	for n := range kinds.NumField() {
		if !kinds.Field(n).IsNil() {
			count++
		}
	}
	return count
}

func checkProjectedKeys(name string, items []corev1.KeyToPath, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	return append(errs, checkItems(items, path.Child("items"))...)
}

func pathsOf(items []corev1.KeyToPath) (paths []string) {
	for _, item := range items {
		paths = append(paths, item.Path)
	}
	return paths
}

// checkPaths checks that no two files have the same path.
func checkPaths(value string, paths []string, seen sets.Set[string], path *field.Path) (errs field.ErrorList) {
	for _, file := range paths {
		if file != "" && seen.Has(file) {
			errs = append(errs, field.Invalid(path, value, "conflicting duplicate paths"))
		}
		seen.Insert(file)
	}
	return errs
}

func checkToken(token *corev1.ServiceAccountTokenProjection, item, path *field.Path) (errs field.ErrorList) {
	if seconds := token.ExpirationSeconds; seconds != nil {
		if *seconds < 10*60 {
			errs = append(errs, field.Invalid(item.Child("expirationSeconds"), *seconds,
				"may not specify a duration less than 10 minutes"))
		}
		if *seconds > 1<<32 {
			errs = append(errs, field.Invalid(item.Child("expirationSeconds"), *seconds,
				"may not specify a duration larger than 2^32 seconds"))
		}
	}
	if token.Path == "" {
		return append(errs, field.Required(path.Child("path"), ""))
	}
	return append(errs, checkFilePath(token.Path, path.Child("path"))...)
}

var accessModes = []corev1.PersistentVolumeAccessMode{
	corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod,
}

// CheckClaimSpec checks a claim for a volume.
func CheckClaimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) (errs field.ErrorList) {
	modes := path.Child("accessModes")
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(modes, "at least 1 access mode is required"))
	}
	exclusive, shared := false, false
	for _, mode := range spec.AccessModes {
		errs = append(errs, checkOneOf(mode, modes, accessModes...)...)
		exclusive = exclusive || mode == corev1.ReadWriteOncePod
		shared = shared || mode != corev1.ReadWriteOncePod
	}
	if exclusive && shared {
		errs = append(errs, field.Forbidden(modes, "may not use ReadWriteOncePod with other access modes"))
	}
	storage := path.Child("resources").Key(string(corev1.ResourceStorage))
	switch size, found := spec.Resources.Requests[corev1.ResourceStorage]; {
	case !found:
		errs = append(errs, field.Required(storage, ""))
	case size.Sign() <= 0:
		errs = append(errs, field.Invalid(storage, size.String(), "must be greater than zero"))
	}
	if spec.StorageClassName != nil {
		errs = append(errs,
			checkName(*spec.StorageClassName, path.Child("storageClassName"), apivalidation.NameIsDNSSubdomain)...)
	}
	if spec.VolumeMode != nil {
		errs = append(errs, checkOneOf(*spec.VolumeMode, path.Child("volumeMode"),
			corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	return errs
}
